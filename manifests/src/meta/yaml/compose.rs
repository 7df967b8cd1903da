//! From parser events to nodes, and from nodes to JSON.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde_json::{Map, Number, Value};
use serde_saphyr::granit_parser::{Event, Parser, ScalarStyle, ScanError, StrInput, Tag};

use super::scalar::{self, Scalar};
use super::{Document, Duplicate, YamlError};

/// Deeper documents are refused; JSON parsers stop at 128.
const MAX_DEPTH: usize = 100;
/// Nodes that one document may become; the API server stores no object that needs as many.
const MAX_NODES: usize = 2_000_000;
/// Bytes of text that aliases may add to one document.
const MAX_ALIAS_BYTES: usize = 16 << 20;

const YAML_TAGS: &str = "tag:yaml.org,2002:";

/// How many lines of one text may be indented anew; beyond, the error stands.
const MAX_REPAIRS: usize = 500;

/// Reads all documents, or only the first one: what stands behind it is not even looked at, as in Go.
pub(super) fn read(text: &str, only_first: bool) -> Result<Vec<Document>, YamlError> {
    if text.contains(control_character) {
        return Err(YamlError::Content("control characters are not allowed".to_owned()));
    }
    let mut text = Cow::Borrowed(text);
    let mut last = 0;
    for _ in 0..MAX_REPAIRS {
        match attempt(&text, only_first) {
            // The same line again: it did not help.
            Err(Stop::Indentation(line, error)) if line == last => return Err(error),
            Err(Stop::Indentation(line, _)) => {
                text = Cow::Owned(indent(&text, line));
                last = line;
            }
            Err(Stop::Error(error)) => return Err(error),
            Ok(documents) => return Ok(documents),
        }
    }
    match attempt(&text, only_first) {
        Ok(documents) => Ok(documents),
        Err(Stop::Error(error) | Stop::Indentation(_, error)) => Err(error),
    }
}

enum Stop {
    /// Only the indentation of this line is wrong.
    Indentation(usize, YamlError),
    Error(YamlError),
}

impl From<YamlError> for Stop {
    fn from(error: YamlError) -> Self {
        Stop::Error(error)
    }
}

fn attempt(text: &str, only_first: bool) -> Result<Vec<Document>, Stop> {
    let mut reader = Reader { text, parser: Parser::new_from_str(text), ended: false };
    let mut out = Vec::new();
    while let Some(document) = reader.next_document()? {
        out.push(document);
        if only_first {
            break;
        }
    }
    Ok(out)
}

/// Go does not look at the indentation inside of brackets and quotes, where it has no meaning; our parser does. Gives
/// the text with this line further to the right than all others.
fn indent(text: &str, line: usize) -> String {
    // Entries of lists and keys may open further levels in the same line.
    let level = |l: &str| l.len() - l.trim_start_matches([' ', '-', '?', ':']).len();
    let width = text.lines().map(level).max().unwrap_or(0) + 2;
    let mut out = String::with_capacity(text.len() + width);
    for (i, l) in text.split_inclusive('\n').enumerate() {
        if i + 1 == line {
            out.extend(std::iter::repeat_n(' ', width));
            out.push_str(l.trim_start_matches([' ', '\t']));
        } else {
            out.push_str(l);
        }
    }
    out
}

/// The line whose indentation is all that this error is about, where Go does not look at it.
fn only_indentation(text: &str, error: &ScanError) -> Option<usize> {
    let line = error.marker().line();
    match error.info() {
        "invalid indentation"
        | "invalid indentation in flow construct"
        | "invalid indentation in multiline quoted scalar"
        | "tab cannot be used as indentation" => Some(line),
        // Tabs are wrong in block style, and fine in brackets.
        info if info.starts_with("tabs disallowed") || info.ends_with("found a tab") => {
            let mut before = "";
            for (i, l) in text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty()) {
                let content = l.trim_start_matches([' ', '\t']);
                if i + 1 >= line
                    && l.get(..l.len() - content.len()).is_some_and(|indent| indent.contains('\t'))
                {
                    let inside =
                        before.trim_end().ends_with(['[', '{', ',']) || content.starts_with([']', '}']);
                    return inside.then_some(i + 1);
                }
                before = l;
            }
            None
        }
        _ => None,
    }
}

struct Reader<'a> {
    text: &'a str,
    parser: Parser<'a, StrInput<'a>>,
    ended: bool,
}

#[derive(Debug)]
struct Node {
    kind: Kind,
    line: usize,
}

#[derive(Debug)]
enum Kind {
    Scalar { text: String, plain: bool, tag: Option<Tag> },
    Sequence(Vec<usize>),
    Mapping(Vec<usize>),
    Alias(usize),
}

struct Open {
    node: usize,
    children: Vec<usize>,
    mapping: bool,
}

impl Reader<'_> {
    /// The next document; `None` after the last.
    fn next_document(&mut self) -> Result<Option<Document>, Stop> {
        let mut nodes: Vec<Node> = Vec::new();
        let mut anchors: HashMap<usize, usize> = HashMap::new();
        let mut open: Vec<Open> = Vec::new();
        let mut started = false;
        while !self.ended {
            let Some(next) = self.parser.next() else { break };
            let (event, span) = next.map_err(|e| {
                let error = syntax_error(self.text, &e);
                match only_indentation(self.text, &e) {
                    Some(line) => Stop::Indentation(line, error),
                    None => Stop::Error(error),
                }
            })?;
            let line = span.start.line().max(1);
            let anchor = event.anchor_id();
            let node = match event {
                Event::StreamEnd => {
                    self.ended = true;
                    break;
                }
                Event::DocumentStart(..) => {
                    started = true;
                    continue;
                }
                Event::DocumentEnd => return Ok(Some(compose(&nodes)?)),
                Event::Scalar(text, style, _, tag) => Node {
                    kind: Kind::Scalar {
                        text: text.into_owned(),
                        plain: style == ScalarStyle::Plain,
                        tag: tag.map(Cow::into_owned),
                    },
                    line,
                },
                Event::SequenceStart(..) => Node { kind: Kind::Sequence(Vec::new()), line },
                Event::MappingStart(..) => Node { kind: Kind::Mapping(Vec::new()), line },
                Event::Alias(id) => {
                    let target = anchors
                        .get(&id)
                        .ok_or_else(|| YamlError::Content("unknown anchor referenced".to_owned()))?;
                    Node { kind: Kind::Alias(*target), line }
                }
                Event::SequenceEnd | Event::MappingEnd => {
                    if let Some(done) = open.pop()
                        && let Some(node) = nodes.get_mut(done.node)
                    {
                        node.kind = if done.mapping {
                            Kind::Mapping(done.children)
                        } else {
                            Kind::Sequence(done.children)
                        };
                    }
                    continue;
                }
                Event::Nothing | Event::StreamStart | Event::Comment(..) => continue,
            };
            let index = nodes.len();
            if let Some(id) = anchor {
                anchors.insert(id, index);
            }
            if let Some(parent) = open.last_mut() {
                parent.children.push(index);
            }
            match node.kind {
                Kind::Sequence(_) => open.push(Open { node: index, children: Vec::new(), mapping: false }),
                Kind::Mapping(_) => open.push(Open { node: index, children: Vec::new(), mapping: true }),
                _ => {}
            }
            if open.len() > MAX_DEPTH {
                return Err(YamlError::Content(format!("exceeded max depth of {MAX_DEPTH}")).into());
            }
            nodes.push(node);
        }
        if started { Ok(Some(compose(&nodes)?)) } else { Ok(None) }
    }
}

fn control_character(c: char) -> bool {
    c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{85}')
}

/// The Go parser's words for what is wrong, where it has the same thought.
fn syntax_error(text: &str, error: &ScanError) -> YamlError {
    let info = error.info();
    if info.contains("unknown anchor") {
        let rest = text.char_indices().nth(error.marker().index()).and_then(|(at, _)| text.get(at..));
        let name = rest.unwrap_or_default().trim_start_matches('*');
        let name = name.split(|c: char| c.is_whitespace() || ",[]{}".contains(c)).next().unwrap_or_default();
        return YamlError::Content(format!("unknown anchor '{name}' referenced"));
    }
    let said = match info {
        _ if info.starts_with("unexpected character") => "found character that cannot start any token",
        _ if info.starts_with("tabs disallowed") => "found character that cannot start any token",
        _ if info.ends_with("found a tab") => "found a tab character that violates indentation",
        "a block scalar content cannot start with a tab" => {
            "found a tab character where an indentation space is expected"
        }
        "simple key expected ':'" => "could not find expected ':'",
        "unclosed bracket '['" => "did not find expected ',' or ']'",
        "unclosed bracket '{'" => "did not find expected ',' or '}'",
        "misplaced bracket" => "did not find expected node content",
        "unclosed quote" => "found unexpected end of stream",
        _ if info.starts_with("invalid trailing content after") => "did not find expected key",
        _ if info.starts_with("while ") => info.split_once(", ").map_or(info, |(_, said)| said),
        _ => info,
    };
    YamlError::Syntax { line: error.marker().line().max(1), text: said.to_owned() }
}

fn compose(nodes: &[Node]) -> Result<Document, YamlError> {
    let mut composer = Composer { nodes, ..Composer::default() };
    let value = if nodes.is_empty() { Value::Null } else { composer.value(0)? };
    Ok(Document { value, duplicates: composer.duplicates })
}

#[derive(Default)]
struct Composer<'a> {
    nodes: &'a [Node],
    duplicates: Vec<Duplicate>,
    decoded: usize,
    from_aliases: usize,
    alias_bytes: usize,
    /// Aliases that are being followed.
    following: Vec<usize>,
    depth: usize,
}

impl Composer<'_> {
    fn node(&self, index: usize) -> Result<&Node, YamlError> {
        self.nodes.get(index).ok_or_else(|| YamlError::Content("document is not complete".to_owned()))
    }

    /// Counts one more node, with the bound of the Go parser on how much aliases may blow a document up.
    fn count(&mut self) -> Result<(), YamlError> {
        self.decoded += 1;
        if !self.following.is_empty() {
            self.from_aliases += 1;
        }
        #[expect(clippy::cast_precision_loss, reason = "a ratio of counts far below 2^52")]
        let ratio = self.from_aliases as f64 / self.decoded as f64;
        let too_many =
            self.from_aliases > 100 && self.decoded > 1000 && ratio > allowed_alias_ratio(self.decoded);
        if too_many || self.decoded > MAX_NODES || self.alias_bytes > MAX_ALIAS_BYTES {
            return Err(YamlError::Content("document contains excessive aliasing".to_owned()));
        }
        Ok(())
    }

    fn value(&mut self, index: usize) -> Result<Value, YamlError> {
        self.count()?;
        self.depth += 1;
        if self.depth > 2 * MAX_DEPTH {
            return Err(YamlError::Content(format!("exceeded max depth of {MAX_DEPTH}")));
        }
        let value = match &self.node(index)?.kind {
            Kind::Scalar { text, .. } => {
                if !self.following.is_empty() {
                    self.alias_bytes += text.len();
                }
                json(self.scalar(index)?)?
            }
            Kind::Alias(target) => {
                let target = *target;
                self.follow(target, |c| c.value(target))?
            }
            Kind::Sequence(children) => {
                let children = children.clone();
                Value::Array(children.into_iter().map(|i| self.value(i)).collect::<Result<_, _>>()?)
            }
            Kind::Mapping(_) => {
                let mut map = Map::new();
                self.fill(index, &mut map)?;
                Value::Object(map)
            }
        };
        self.depth -= 1;
        Ok(value)
    }

    fn follow<T>(
        &mut self,
        target: usize,
        read: impl FnOnce(&mut Self) -> Result<T, YamlError>,
    ) -> Result<T, YamlError> {
        if self.following.contains(&target) {
            return Err(YamlError::Content("anchor value contains itself".to_owned()));
        }
        self.following.push(target);
        let out = read(self);
        self.following.pop();
        out
    }

    /// Puts the entries of a mapping into `map` in their order: merge keys and explicit keys alike overwrite what
    /// stands there already, as the Go parser has it.
    fn fill(&mut self, index: usize, map: &mut Map<String, Value>) -> Result<(), YamlError> {
        let Kind::Mapping(children) = &self.node(index)?.kind else {
            return Err(merge_error());
        };
        let children = children.clone();
        let mut own: HashSet<String> = HashSet::new();
        for pair in children.chunks(2) {
            let &[key, value] = pair else {
                return Err(YamlError::Content("document is not complete".to_owned()));
            };
            if self.is_merge(key)? {
                self.merge(value, map)?;
                continue;
            }
            self.count()?;
            let name = self.key(key)?;
            let line = self.node(key)?.line;
            let value = self.value(value)?;
            if !own.insert(name.clone()) {
                self.duplicates.push(Duplicate { key: name.clone(), line });
            }
            map.insert(name, value);
        }
        Ok(())
    }

    fn is_merge(&self, key: usize) -> Result<bool, YamlError> {
        Ok(match &self.node(key)?.kind {
            Kind::Scalar { text, plain, tag } if text == "<<" => match tag {
                None => *plain,
                Some(tag) => yaml_tag(tag).as_deref() == Some("merge"),
            },
            _ => false,
        })
    }

    fn merge(&mut self, value: usize, map: &mut Map<String, Value>) -> Result<(), YamlError> {
        match &self.node(value)?.kind {
            Kind::Mapping(_) | Kind::Alias(_) => self.merge_one(value, map),
            Kind::Sequence(items) => {
                // The first one of a list has precedence.
                items.clone().into_iter().rev().try_for_each(|item| self.merge_one(item, map))
            }
            Kind::Scalar { .. } => Err(merge_error()),
        }
    }

    fn merge_one(&mut self, value: usize, map: &mut Map<String, Value>) -> Result<(), YamlError> {
        self.count()?;
        self.depth += 1;
        if self.depth > 2 * MAX_DEPTH {
            return Err(YamlError::Content(format!("exceeded max depth of {MAX_DEPTH}")));
        }
        match self.node(value)?.kind {
            Kind::Mapping(_) => self.fill(value, map)?,
            Kind::Alias(target) => self.follow(target, |c| c.fill(target, map))?,
            _ => return Err(merge_error()),
        }
        self.depth -= 1;
        Ok(())
    }

    fn key(&self, index: usize) -> Result<String, YamlError> {
        let index = match self.node(index)?.kind {
            Kind::Alias(target) => target,
            _ => index,
        };
        if !matches!(self.node(index)?.kind, Kind::Scalar { .. }) {
            return Err(YamlError::Content("invalid map key".to_owned()));
        }
        Ok(match self.scalar(index)? {
            Scalar::Text(text) => text,
            Scalar::Bool(b) => b.to_string(),
            Scalar::Int(n) => n.to_string(),
            Scalar::Unsigned(n) => n.to_string(),
            Scalar::Float(f) => scalar::float_key(f),
            Scalar::Null => return Err(YamlError::NoJson("unsupported map key of type: null".to_owned())),
        })
    }

    fn scalar(&self, index: usize) -> Result<Scalar, YamlError> {
        let Kind::Scalar { text, plain, tag } = &self.node(index)?.kind else {
            return Err(YamlError::Content("document is not complete".to_owned()));
        };
        match tag.as_ref().map(yaml_tag) {
            None if *plain => Ok(scalar::plain(text)),
            Some(Some(name)) => match &*name {
                "null" | "bool" | "int" | "float" | "str" => {
                    scalar::tagged(&name, text).map_err(YamlError::Content)
                }
                "binary" => binary(text),
                _ => Ok(Scalar::Text(text.clone())),
            },
            // The non-specific tag, or one of an application.
            None | Some(None) => Ok(Scalar::Text(text.clone())),
        }
    }
}

fn yaml_tag(tag: &Tag) -> Option<Cow<'_, str>> {
    tag.suffix_in_namespace(YAML_TAGS)
}

fn merge_error() -> YamlError {
    YamlError::Content("map merge requires map or sequence of maps as the value".to_owned())
}

/// 99 % of a document of up to 400,000 nodes may come from aliases, down to 10 % at 4,000,000.
fn allowed_alias_ratio(decoded: usize) -> f64 {
    const LOW: f64 = 400_000.0;
    const HIGH: f64 = 4_000_000.0;
    #[expect(clippy::cast_precision_loss, reason = "a count far below 2^52")]
    let decoded = decoded as f64;
    if decoded <= LOW {
        0.99
    } else if decoded >= HIGH {
        0.10
    } else {
        0.99 - 0.89 * ((decoded - LOW) / (HIGH - LOW))
    }
}

fn json(scalar: Scalar) -> Result<Value, YamlError> {
    Ok(match scalar {
        Scalar::Null => Value::Null,
        Scalar::Bool(b) => Value::Bool(b),
        Scalar::Int(n) => Value::from(n),
        Scalar::Unsigned(n) => Value::from(n),
        Scalar::Text(text) => Value::String(text),
        // JSON has one kind of number: Go writes 1.0 as 1.
        #[expect(clippy::cast_possible_truncation, reason = "checked: integral and below 2^53")]
        Scalar::Float(f) if f.fract() == 0.0 && f.abs() < 9_007_199_254_740_992.0 => Value::from(f as i64),
        Scalar::Float(f) => Number::from_f64(f).map(Value::Number).ok_or_else(|| {
            let name = if f.is_nan() {
                "NaN"
            } else if f > 0.0 {
                "+Inf"
            } else {
                "-Inf"
            };
            YamlError::NoJson(format!("json: unsupported value: {name}"))
        })?,
    })
}

/// `!!binary` becomes its text, as the Go parser has it.
fn binary(text: &str) -> Result<Scalar, YamlError> {
    let bad = || YamlError::Content("!!binary value contains invalid base64 data".to_owned());
    let quoted = Value::String(text.split_whitespace().collect());
    let bytes: k8s_openapi::ByteString = serde_json::from_value(quoted).map_err(|_| bad())?;
    Ok(Scalar::Text(String::from_utf8_lossy(&bytes.0).into_owned()))
}
