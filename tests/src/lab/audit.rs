//! Reads an API server's audit log: who wrote what since when. Leases and reviews are not counted as writes, and
//! neither are dry runs.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use kube::Client;
use kube::api::GetParams;
use kube::core::request::Request;
use serde::Deserialize;

/// A place in an audit log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark(u64);

impl Mark {
    /// In front of everything.
    pub const START: Mark = Mark(0);
}

/// One write (or, from [`Audit::answered`], any request).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// When the request came in.
    pub at: Timestamp,
    /// Name of the user.
    pub user: String,
    /// `create`, `update`, `patch`, `delete` or `deletecollection`; of other requests `get`, `list` or `watch`.
    pub verb: String,
    /// API group, empty for the core group.
    pub group: String,
    /// Plural.
    pub resource: String,
    /// `status`, `approval`, or empty.
    pub subresource: String,
    /// Empty for cluster-scoped objects.
    pub namespace: String,
    /// Empty when the server chose it.
    pub name: String,
    /// HTTP status of the answer.
    pub code: u16,
}

impl std::fmt::Display for Write {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { at, user, verb, resource, subresource, namespace, name, code, .. } = self;
        let slash = if subresource.is_empty() { "" } else { "/" };
        write!(f, "{at} {user} {verb} {resource}{slash}{subresource} {namespace}/{name} -> {code}")
    }
}

/// Reader of one API server's audit log.
#[derive(Clone)]
pub struct Audit {
    path: PathBuf,
    client: Client,
}

impl std::fmt::Debug for Audit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Audit").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Audit {
    pub(super) fn new(path: PathBuf, client: Client) -> Self {
        Self { path, client }
    }

    /// The present end of the log; everything answered before is in front of it.
    pub async fn mark(&self) -> Result<Mark> {
        let marker = uuid::Uuid::new_v4().to_string();
        let start = Mark(std::fs::metadata(&self.path).map_or(0, |data| data.len()));
        let request = Request::new("/lab-marker").get(&marker, &GetParams::default())?;
        // The path does not exist: only its line in the log is wanted.
        let _ = tokio::time::timeout(Duration::from_secs(10), self.client.request_text(request)).await;
        for _ in 0..200 {
            if let Some(end) = self.find(start, &marker)? {
                return Ok(end);
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        bail!("the marker {marker} does not appear in {}", self.path.display())
    }

    fn find(&self, start: Mark, marker: &str) -> Result<Option<Mark>> {
        let mut position = start.0;
        for line in self.lines(start)? {
            let line = line?;
            position += u64::try_from(line.len())? + 1;
            if line.contains(marker) && line.ends_with('}') {
                return Ok(Some(Mark(position)));
            }
        }
        Ok(None)
    }

    fn lines(&self, start: Mark) -> Result<std::io::Lines<BufReader<File>>> {
        let mut file = File::open(&self.path).with_context(|| format!("opening {}", self.path.display()))?;
        file.seek(SeekFrom::Start(start.0))?;
        Ok(BufReader::new(file).lines())
    }

    /// All writes since `mark` until now.
    pub async fn writes_since(&self, mark: Mark) -> Result<Vec<Write>> {
        self.requests_since(mark, Line::is_write).await
    }

    /// The requests of one user since `mark`, reads and dry runs too, that were answered with `code`.
    pub async fn answered(&self, user: &str, code: u16, mark: Mark) -> Result<Vec<Write>> {
        let is_such = |line: &Line| {
            line.user.username == user && line.response_status.as_ref().is_some_and(|s| s.code == code)
        };
        self.requests_since(mark, is_such).await
    }

    async fn requests_since(&self, mark: Mark, wanted: impl Fn(&Line) -> bool) -> Result<Vec<Write>> {
        let end = self.mark().await?;
        let mut position = mark.0;
        let mut writes = Vec::new();
        for line in self.lines(mark)? {
            let line = line?;
            position += u64::try_from(line.len())? + 1;
            if position > end.0 {
                break;
            }
            writes.extend(parse(&line, &wanted));
        }
        Ok(writes)
    }

    /// The writes of one user since `mark`.
    pub async fn writes_of(&self, user: &str, mark: Mark) -> Result<Vec<Write>> {
        let mut writes = self.writes_since(mark).await?;
        writes.retain(|write| write.user == user);
        Ok(writes)
    }
}

/// Writes per user, for a table.
pub fn per_user(writes: &[Write]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for write in writes {
        *counts.entry(write.user.as_str()).or_default() += 1;
    }
    counts
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    stage: String,
    verb: String,
    #[serde(rename = "requestURI")]
    uri: String,
    user: User,
    #[serde(default)]
    object_ref: ObjectRef,
    response_status: Option<Status>,
    request_received_timestamp: Timestamp,
}

#[derive(Deserialize)]
struct User {
    username: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ObjectRef {
    resource: String,
    namespace: String,
    name: String,
    api_group: String,
    subresource: String,
}

#[derive(Deserialize)]
struct Status {
    #[serde(default)]
    code: u16,
}

impl Line {
    fn is_write(&self) -> bool {
        let is_write =
            matches!(self.verb.as_str(), "create" | "update" | "patch" | "delete" | "deletecollection");
        let resource = &self.object_ref.resource;
        let is_excepted = resource == "leases" || resource.ends_with("reviews") || resource.is_empty();
        is_write && !is_excepted && !self.uri.contains("dryRun=All")
    }
}

fn parse(line: &str, wanted: impl Fn(&Line) -> bool) -> Option<Write> {
    let line: Line = serde_json::from_str(line).ok()?;
    if line.stage != "ResponseComplete" || !wanted(&line) {
        return None;
    }
    let object = line.object_ref;
    Some(Write {
        at: line.request_received_timestamp,
        user: line.user.username,
        verb: line.verb,
        group: object.api_group,
        resource: object.resource,
        subresource: object.subresource,
        namespace: object.namespace,
        name: object.name,
        code: line.response_status.map_or(0, |status| status.code),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(verb: &str, resource: &str, uri: &str) -> String {
        format!(
            r#"{{"kind":"Event","level":"Metadata","stage":"ResponseComplete","requestURI":"{uri}","verb":"{verb}",
            "user":{{"username":"u","groups":["g"]}},"objectRef":{{"resource":"{resource}","namespace":"n","name":"o"}},
            "responseStatus":{{"metadata":{{}},"code":200}},"requestReceivedTimestamp":"2026-01-02T03:04:05.000006Z"}}"#
        )
    }

    #[test]
    fn counts_writes_only() {
        let write = parse(&line("patch", "configmaps", "/api"), Line::is_write).unwrap();
        assert_eq!(write.to_string(), "2026-01-02T03:04:05.000006Z u patch configmaps n/o -> 200");
        for (verb, resource, uri) in [
            ("get", "configmaps", "/api"),
            ("update", "leases", "/api"),
            ("create", "tokenreviews", "/api"),
            ("patch", "configmaps", "/api?dryRun=All&x=y"),
        ] {
            assert_eq!(parse(&line(verb, resource, uri), Line::is_write), None, "{verb} {resource} {uri}");
        }
    }
}
