//! JSON for the oracle: an ordered tree, its texts as UTF-16, so that halves of surrogate pairs can meet.
#![allow(dead_code, unreachable_pub, clippy::std_instead_of_alloc)]
#![cfg_attr(rustfmt, rustfmt_skip)] // laid out by hand, as the rest of the oracle

use super::all_digits;

/// UTF-16, so that the halves of a surrogate pair can come in two deltas and meet here.
pub type Text = Vec<u16>;

#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Number(String), // as written
    Text(Text),
    List(Vec<Self>),
    Object(Vec<(String, Self)>), // in the order of the text
}

static NULL: Json = Json::Null;
pub const MAX_DEPTH: usize = 128;

impl Json {
    /// A field of an object, of duplicates the last; null if it is absent or this is no object.
    pub fn get(&self, key: &str) -> &Self {
        let Self::Object(fields) = self else { return &NULL };
        fields.iter().rfind(|(name, _)| name == key).map_or(&NULL, |(_, value)| value)
    }
    /// The text, or "" for anything else: to every rule "" is absent.
    pub fn text(&self) -> &[u16] {
        if let Self::Text(text) = self { text } else { &[] }
    }
    pub fn string(&self) -> String {
        String::from_utf16_lossy(self.text())
    }
    pub fn items(&self) -> &[Self] {
        if let Self::List(items) = self { items } else { &[] }
    }
    pub fn is_object(&self) -> bool {
        matches!(self, Self::Object(_))
    }
    /// What ends it in the text, if it is a list or an object.
    pub fn end(&self) -> Option<&'static str> {
        match self {
            Self::List(_) => Some("]"),
            Self::Object(_) => Some("}"),
            _ => None,
        }
    }
    /// Null, false, zero or empty.
    pub fn is_nothing(&self) -> bool {
        matches!(self.compact().as_str(), "null" | "false" | "\"\"" | "\"0\"" | "[]" | "{}")
            || matches!(self, Self::Number(number) if number.parse() == Ok(0.0))
    }
    /// An index is an integer or digits; one that is too large stays too large, however it is written.
    pub fn index(&self) -> Option<u64> {
        let text = match self {
            Self::Number(number) if number.parse().is_ok_and(|number: f64| number > f64::from(u32::MAX)) => return Some(u64::MAX),
            Self::Number(number) => number.clone(),
            _ => self.string(),
        };
        all_digits(&text).then(|| text.parse().unwrap_or(u64::MAX))
    }
    /// A count is digits or a float of at least 0; out of range is none.
    pub fn count(&self) -> Option<u64> {
        match self {
            Self::Number(number) if !all_digits(number) => {
                let number: f64 = number.parse().ok().filter(|number| *number >= 0.0)?;
                format!("{:.0}", number.trunc().abs()).parse().ok()
            }
            Self::Number(number) => number.parse().ok(),
            _ => Some(self.string()).filter(|text| all_digits(text))?.parse().ok(),
        }
    }
    /// Written without spaces: keys in their order, numbers as they came (out of range: null), non-ASCII as is.
    pub fn compact(&self) -> String {
        let quote = |text: &str| serde_json::Value::from(text).to_string();
        match self {
            Self::Null => "null".to_string(),
            Self::Number(number) if number.parse().is_ok_and(f64::is_infinite) => "null".to_string(),
            Self::Bool(value) => value.to_string(),
            Self::Number(number) => number.clone(),
            Self::Text(_) => quote(&self.string()),
            Self::List(items) => format!("[{}]", items.iter().map(Self::compact).collect::<Vec<_>>().join(",")),
            Self::Object(fields) => {
                let fields: Vec<_> = fields.iter().map(|(key, value)| quote(key) + ":" + &value.compact()).collect();
                format!("{{{}}}", fields.join(","))
            }
        }
    }
}

/// A JSON parser over the rest of a text. Beyond JSON it takes `NaN`, `Infinity` and `-Infinity` (as null), and says so.
pub struct Parser<'a> {
    pub rest: &'a str,
    pub repaired: bool,
}

impl Parser<'_> {
    pub fn eat(&mut self, prefix: &str) -> bool {
        let rest = self.rest.strip_prefix(prefix);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }
    pub fn token(&mut self, token: &str) -> bool {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
        self.eat(token)
    }
    /// One value. A list or object inside 128 others is read and becomes null. No recursion: a body may be all `[`.
    pub fn value(&mut self) -> Option<Json> {
        let mut open: Vec<(Json, String)> = Vec::new(); // outermost first, each with the key that waits for its value
        loop {
            let mut value = if self.token("[") {
                Json::List(Vec::new())
            } else if self.token("{") {
                Json::Object(Vec::new())
            } else {
                self.scalar()?
            };
            if value.end().is_some_and(|end| !self.token(end)) {
                let key = self.key(&value)?;
                open.push((value, key));
                continue;
            }
            // it is whole: it goes into the container around it, and that one, if it ends here, into the next
            loop {
                if value.end().is_some() && open.len() >= MAX_DEPTH {
                    value = Json::Null;
                }
                let Some((mut around, key)) = open.pop() else { return Some(value) };
                match &mut around {
                    Json::Object(fields) => fields.push((key, value)),
                    Json::List(items) => items.push(value),
                    _ => return None,
                }
                if self.token(",") {
                    let key = self.key(&around)?;
                    open.push((around, key));
                    break;
                }
                self.token(around.end()?).then_some(())?;
                value = around;
            }
        }
    }
    /// The key of the next field of an object. A list has none.
    pub fn key(&mut self, container: &Json) -> Option<String> {
        if !container.is_object() {
            return Some(String::new());
        }
        let key = self.token("\"").then(|| self.quoted())??;
        self.token(":").then(|| String::from_utf16_lossy(&key))
    }
    pub fn scalar(&mut self) -> Option<Json> {
        if self.eat("\"") {
            return self.quoted().map(Json::Text);
        }
        let words = [("null", Json::Null), ("true", Json::Bool(true)), ("false", Json::Bool(false))];
        let beyond = ["NaN", "Infinity", "-Infinity"].map(|word| (word, Json::Null));
        if let Some((word, value)) = words.into_iter().chain(beyond).find(|(word, _)| self.eat(word)) {
            self.repaired |= word.ends_with(['N', 'y']);
            return Some(value);
        }
        let start = self.rest;
        self.eat("-");
        (self.eat("0") || self.digits()).then_some(())?;
        (!self.eat(".") || self.digits()).then_some(())?;
        if self.eat("e") || self.eat("E") {
            let _sign = self.eat("+") || self.eat("-");
            self.digits().then_some(())?;
        }
        Some(Json::Number(start.strip_suffix(self.rest)?.to_string()))
    }
    pub fn digits(&mut self) -> bool {
        let before = self.rest;
        self.rest = before.trim_start_matches(|c: char| c.is_ascii_digit());
        self.rest != before
    }
    /// The rest of a string whose opening quote is eaten.
    pub fn quoted(&mut self) -> Option<Text> {
        let mut text = Text::new();
        loop {
            match self.char()? {
                '"' => return Some(text),
                '\\' if self.eat("u") => {
                    let (hex, rest) = self.rest.split_at_checked(4)?;
                    let hex = Some(hex).filter(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()))?;
                    text.push(u16::from_str_radix(hex, 16).ok()?);
                    self.rest = rest;
                }
                '\\' => {
                    let at = "\"\\/bfnrt".find(self.char()?)?;
                    text.push(u16::from(*b"\"\\/\x08\x0c\n\r\t".get(at)?));
                }
                c if c < ' ' => return None,
                c => text.extend_from_slice(c.encode_utf16(&mut [0; 2])),
            }
        }
    }
    pub fn char(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let c = chars.next();
        self.rest = chars.as_str();
        c
    }
}

/// Arguments that are one whole JSON object or array, and nothing but JSON.
pub fn whole(arguments: &[u16]) -> Option<Json> {
    let text = String::from_utf16_lossy(arguments);
    let mut parser = Parser { rest: &text, repaired: false };
    let value = parser.value().filter(|value| value.end().is_some())?;
    (parser.token("") && parser.rest.is_empty() && !parser.repaired).then_some(value)
}
