//! One plain HTTP request, for probes and metrics: no client library needed.

use std::time::Duration;

use anyhow::{Context, Result};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// GET of `path` at `address` (`host:port`) without TLS; status and body. Two seconds at most.
pub async fn get(address: &str, path: &str) -> Result<(u16, String)> {
    tokio::time::timeout(Duration::from_secs(2), exchange(address, path)).await.context("no answer in 2 s")?
}

async fn exchange(address: &str, path: &str) -> Result<(u16, String)> {
    let mut stream = TcpStream::connect(address).await.with_context(|| format!("connecting to {address}"))?;
    let request = format!("GET {path} HTTP/1.0\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    let answer = String::from_utf8_lossy(&answer);
    let (head, body) = answer.split_once("\r\n\r\n").context("an answer without headers")?;
    let status = head.split_whitespace().nth(1).and_then(|code| code.parse().ok());
    Ok((status.context("an answer without a status")?, body.to_owned()))
}

/// Whether GET of `path` at `address` is answered with 200 to 399, as a kubelet judges.
pub async fn is_fine(address: &str, path: &str) -> bool {
    matches!(get(address, path).await, Ok((200..400, _)))
}
