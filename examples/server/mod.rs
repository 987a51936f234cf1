//! A loopback HTTP server for the examples and their tests: it gives the same answer to every request, in a chunked
//! body that is cut at awkward places.
#![allow(dead_code, reason = "each example needs a part of it")]

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

const BODY: &str = concat!(
    r#"data: {"id":"chatcmpl-1","model":"m-1","choices":[{"index":0,"delta":{"role":"assistant","content":"Let me "}}]}"#,
    "\n\n",
    r#"data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":"look: 今日 "}}]}"#,
    "\n\n: keep-alive\n\n",
    r#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function","#,
    r#""function":{"name":"weather","arguments":"{\"city\": \"Osl"}}]}}]}"#,
    "\n\n",
    r#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"o\"}"}}]}}]}"#,
    "\n\n",
    r#"data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
    "\n\n",
    r#"data: {"choices":[],"usage":{"prompt_tokens":20,"completion_tokens":12,"total_tokens":32}}"#,
    "\n\ndata: [DONE]\n\n",
);

/// What the server sends.
pub(crate) struct Reply {
    pub(crate) content_type: &'static str,
    pub(crate) body: Vec<u8>,
    /// Of the places where the body is cut.
    pub(crate) seed: u64,
    /// The connection is closed after so much of the body.
    pub(crate) dies_at: Option<usize>,
}

/// The address on the command line, or that of a server that was just started.
pub(crate) fn url() -> io::Result<String> {
    match std::env::args().nth(1) {
        Some(url) => Ok(url),
        None => serve(Reply {
            content_type: "text/event-stream",
            body: BODY.into(),
            seed: 1,
            dies_at: None,
        }),
    }
}

/// Starts a server. Gives its address.
pub(crate) fn serve(reply: Reply) -> io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}/v1/chat/completions", listener.local_addr()?);
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            // A client may hang up when it has seen [DONE].
            let _ = answer(connection, &reply);
        }
    });
    Ok(url)
}

fn answer(mut connection: TcpStream, reply: &Reply) -> io::Result<()> {
    connection.set_nodelay(true)?;
    read_request(&connection)?;
    let mut random = Random(reply.seed);
    let mut wire = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {}\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n",
        reply.content_type
    )
    .into_bytes();
    let sent = reply.dies_at.unwrap_or(reply.body.len());
    let body = reply.body.get(..sent).unwrap_or(&reply.body);
    let chunks = random.cut(body, 80);
    // It dies in the middle of a chunk, or between two.
    let is_cut_in_a_chunk = reply.dies_at.is_some() && random.below(2) == 0;
    for (left, chunk) in (0..chunks.len()).rev().zip(chunks) {
        let is_cut = is_cut_in_a_chunk && left == 0;
        let size = chunk.len() + if is_cut { 10 } else { 0 };
        write!(wire, "{size:x}\r\n")?;
        wire.extend_from_slice(chunk);
        if !is_cut {
            wire.extend_from_slice(b"\r\n");
        }
    }
    if reply.dies_at.is_none() {
        wire.extend_from_slice(b"0\r\n\r\n");
    }
    for piece in random.cut(&wire, 120) {
        connection.write_all(piece)?;
        if random.below(8) == 0 {
            thread::sleep(Duration::from_micros(200));
        }
    }
    Ok(())
}

/// Reads a request with its body, so that closing the connection resets nothing.
fn read_request(connection: &TcpStream) -> io::Result<()> {
    let mut reader = BufReader::new(connection);
    let (mut line, mut length) = (String::new(), 0);
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        match line.trim_end().split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.parse().map_err(io::Error::other)?;
            }
            Some(_) => {}
            None if line.trim_end().is_empty() => break,
            None => {}
        }
    }
    io::copy(&mut reader.take(length), &mut io::sink())?;
    Ok(())
}

/// SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        usize::try_from(mixed % limit as u64).unwrap_or_default()
    }

    /// Pieces of one byte and more, none larger than this.
    fn cut<'a>(&mut self, mut bytes: &'a [u8], largest: usize) -> Vec<&'a [u8]> {
        let mut pieces = Vec::new();
        while !bytes.is_empty() {
            let size = 1 + self.below(largest);
            let (piece, rest) = bytes.split_at_checked(size).unwrap_or((bytes, &[]));
            pieces.push(piece);
            bytes = rest;
        }
        pieces
    }
}
