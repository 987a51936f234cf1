//! All that was measured in a run.

use crate::large::Large;
use crate::many::Many;
use crate::measure::Cell;

pub struct Results {
    pub cells: Vec<Cell>,
    pub large: Vec<Large>,
    pub many: Vec<Many>,
}

impl Results {
    pub fn cell(&self, stream: &str, cut: &str, pipeline: &str) -> Option<&Cell> {
        self.cells
            .iter()
            .find(|cell| cell.stream == stream && cell.cut == cut && cell.pipeline == pipeline)
    }

    pub fn yardstick(&self, stream: &str, cut: &str) -> Option<&Cell> {
        self.cells
            .iter()
            .find(|cell| cell.stream == stream && cell.cut == cut && cell.is_yardstick)
    }

    /// How many times as fast as the yardstick a cell is.
    pub fn speed(&self, cell: &Cell) -> Option<f64> {
        let yardstick = self.yardstick(cell.stream, &cell.cut)?;
        Some(yardstick.best_ns()? / cell.best_ns()?)
    }

    /// How many times as fast as the yardstick chatwire is.
    pub fn our_speed(&self, stream: &str, cut: &str) -> Option<f64> {
        self.speed(self.cell(stream, cut, "chatwire")?)
    }

    /// The streams that were measured, in order.
    pub fn streams(&self) -> Vec<&'static str> {
        let mut names: Vec<&'static str> = Vec::new();
        for cell in &self.cells {
            if !names.contains(&cell.stream) {
                names.push(cell.stream);
            }
        }
        names
    }
}
