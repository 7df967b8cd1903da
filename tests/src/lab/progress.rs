//! Progress of long steps on standard error: one moving line on a terminal, few complete lines in a log file.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// In a log a step that goes on is mentioned this often.
const EVERY: Duration = Duration::from_secs(30);

/// Writes one line to standard error, past the capture of the test runner: a wait of minutes must not look like a hang.
pub fn line(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// A duration as people read it: `0.4 s`, `12 s`, `3 min 05 s`.
pub fn human(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    match seconds {
        0..10 => format!("{:.1} s", elapsed.as_secs_f64()),
        10..60 => format!("{seconds} s"),
        _ => format!("{} min {:02} s", seconds / 60, seconds % 60),
    }
}

/// One step that is going on.
#[derive(Debug)]
pub struct Step {
    label: String,
    started: Instant,
    said: Instant,
    bar: Option<ProgressBar>,
}

impl Step {
    /// Announces the step `label`.
    pub fn start(label: impl Into<String>) -> Self {
        let label = label.into();
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} [{elapsed_precise}]") {
                bar.set_style(style);
            }
            bar.set_message(label.clone());
            bar
        });
        if bar.is_none() {
            line(&label);
        }
        let now = Instant::now();
        Self { label, started: now, said: now, bar }
    }

    /// To be called now and then while the step runs.
    pub fn tick(&mut self) {
        if let Some(bar) = &self.bar {
            bar.tick();
        } else if self.said.elapsed() >= EVERY {
            self.said = Instant::now();
            line(&format!("{}: {} so far", self.label, human(self.started.elapsed())));
        }
    }

    /// Ends the step; returns how long it took.
    pub fn done(self, result: &str) -> Duration {
        let elapsed = self.started.elapsed();
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        line(&format!("{}: {result} after {}", self.label, human(elapsed)));
        elapsed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_readable() {
        assert_eq!(human(Duration::from_millis(430)), "0.4 s");
        assert_eq!(human(Duration::from_secs(59)), "59 s");
        assert_eq!(human(Duration::from_secs(185)), "3 min 05 s");
    }
}
