//! Writes the seeds made from `fixtures/`, for the fuzzer: `seeds FOLDER` gives `FOLDER/TARGET/NNNN`.

use std::fs;
use std::path::PathBuf;

use chatwire_fuzz::TARGETS;

fn main() -> std::io::Result<()> {
    let Some(folder) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: seeds FOLDER");
        std::process::exit(64);
    };
    for target in TARGETS {
        let folder = folder.join(target.name);
        fs::create_dir_all(&folder)?;
        let seeds = (target.seeds)();
        for (nth, seed) in seeds.iter().enumerate() {
            fs::write(folder.join(format!("{nth:04}")), seed)?;
        }
        println!("{} seeds of {}", seeds.len(), target.name);
    }
    Ok(())
}
