//! `/healthz` and `/readyz`, in as little code as HTTP needs.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::config::Config;
use crate::health::Shared;

const PATIENCE: Duration = Duration::from_secs(2);

/// Opens the port.
pub(crate) async fn listen(config: &Config) -> anyhow::Result<TcpListener> {
    TcpListener::bind(config.probe_address)
        .await
        .with_context(|| format!("listening on {}", config.probe_address))
}

/// Answers probes until `stop`. That it answers at all shows that the one thread of the process turns.
pub(crate) async fn serve(listener: TcpListener, shared: Arc<Shared>, stop: CancellationToken) {
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            accepted = listener.accept() => match accepted {
                // One at a time, each with a limit: a kubelet asks a few times a minute.
                Ok((stream, _)) => {
                    let _ = tokio::time::timeout(PATIENCE, answer(stream, &shared)).await;
                }
                Err(error) => {
                    debug!(%error, "accept failed");
                    tokio::time::sleep(PATIENCE).await;
                }
            },
        }
    }
}

async fn answer(mut stream: TcpStream, shared: &Shared) -> std::io::Result<()> {
    let mut buffer = [0; 256];
    let n = stream.read(&mut buffer).await?;
    let line = buffer.get(..n).unwrap_or_default();
    let (status, body) = respond(&String::from_utf8_lossy(line), shared.problem());
    let text = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(text.as_bytes()).await?;
    stream.shutdown().await
}

fn respond(request: &str, problem: Option<String>) -> (&'static str, String) {
    let path = request.split_ascii_whitespace().nth(1).unwrap_or_default();
    match (path.split('?').next().unwrap_or_default(), problem) {
        ("/healthz", _) | ("/readyz", None) => ("200 OK", "ok\n".to_owned()),
        ("/readyz", Some(problem)) => ("503 Service Unavailable", format!("{problem}\n")),
        _ => ("404 Not Found", "not found\n".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("GET /healthz HTTP/1.1\r\n", Some("x"), "200 OK")]
    #[case("GET /readyz?verbose HTTP/1.1\r\n", None, "200 OK")]
    #[case("GET /readyz HTTP/1.1\r\n", Some("no report"), "503 Service Unavailable")]
    #[case("GET / HTTP/1.1\r\n", None, "404 Not Found")]
    #[case("", None, "404 Not Found")]
    fn answers(#[case] request: &str, #[case] problem: Option<&str>, #[case] want: &str) {
        let (status, body) = respond(request, problem.map(str::to_owned));
        assert_eq!(status, want);
        if status.starts_with("503") {
            assert_eq!(body, "no report\n");
        }
    }
}
