//! A mutator of streams: does to a stream a few of the things that servers, proxies and networks do. For tests, proptests
//! and fuzzers. It needs nothing but std; the same seed gives the same stream. Its vocabulary is in words.txt.
#![allow(dead_code, unreachable_pub, clippy::std_instead_of_core, clippy::std_instead_of_alloc, clippy::indexing_slicing)]
#![cfg_attr(rustfmt, rustfmt_skip)] // laid out by hand, 130 wide: a table, and what it needs

use std::ops::Range;

/// One of the streams, of which there is at least one, changed in one to four ways.
pub fn mutate(seed: u64, streams: &[&[u8]]) -> Vec<u8> {
    let mut random = Random(seed);
    let mut stream = random.pick(streams).to_vec();
    let often: Vec<Mutation> = MUTATIONS.iter().flat_map(|(weight, _, mutation)| vec![*mutation; *weight]).collect();
    for _ in 0..=random.below(4) {
        let other = random.pick(streams);
        random.pick(&often)(&mut random, &mut stream, other);
    }
    stream
}

/// Changes the stream. The other one is there to take a part from.
pub type Mutation = fn(&mut Random, stream: &mut Vec<u8>, other: &[u8]);

/// What can happen to a stream, and how often it does.
pub const MUTATIONS: &[(usize, &str, Mutation)] = &[
    (1, "the end is cut off", |random, stream, _| stream.truncate(random.below(stream.len() + 1))),
    (1, "a byte is lost", |random, stream, _| { let at = random.below(stream.len()); replace(stream, at..at + 1, "") }),
    (1, "odd bytes come in", |random, stream, _| {
        let at = random.below(stream.len() + 1);
        replace(stream, at..at, random.pick(BYTES));
    }),
    (1, "a byte order mark", |_, stream, _| replace(stream, 0..0, "\u{feff}")),
    (1, "other line ends", |random, stream, _| {
        let (end, is_mixed) = (random.pick(LINE_ENDS), random.below(2) == 0);
        for_each(stream, lines, |line| {
            let text: Vec<u8> = line.iter().copied().filter(|byte| !b"\r\n".contains(byte)).collect();
            let end = if is_mixed { random.pick(LINE_ENDS) } else { end };
            if text.len() == line.len() { line } else { [&text, end].concat() }
        });
    }),
    (1, "lines get lost, double, move", |random, stream, _| edit(stream, lines, |lines| shuffle(random, lines))),
    (1, "a line comes in", |random, stream, _| insert(random, stream, lines, |random| random.line("\n"))),
    (1, "a line without `data:`", |random, stream, _| for_one(random, stream, lines, without_data)),
    (1, "no line with `data:`", |_, stream, _| for_each(stream, lines, without_data)),
    (1, "a payload on several lines", |random, stream, _| {
        let comma = random.pick(&[",\ndata: ", ",\ndata:", ",\n", ",\n: comment\ndata: "]);
        for_one(random, stream, blocks, |block| String::from_utf8_lossy(&block).replace(',', comma).into());
    }),
    (1, "two payloads in one frame", |random, stream, _| edit(stream, blocks, |blocks| {
        let at = random.below(blocks.len().saturating_sub(1));
        let next = if at + 1 < blocks.len() { without_data(blocks.remove(at + 1)) } else { Vec::new() };
        blocks[at] = [blocks[at].trim_ascii_end(), random.pick(&["", " ", "\n", "\ndata: "]).as_bytes(), &next].concat();
    })),
    (2, "frames get lost, double, move", |random, stream, _| edit(stream, blocks, |blocks| shuffle(random, blocks))),
    (2, "a frame comes again and again", |random, stream, _| edit(stream, blocks, |blocks| {
        let at = random.below(blocks.len());
        blocks.splice(at..=at, vec![blocks[at].clone(); 2 + random.below(5)]);
    })),
    (1, "a frame comes in", |random, stream, _| insert(random, stream, blocks, |random| random.line("\n\n"))),
    (1, "another's frame", |random, stream, other| insert(random, stream, blocks, |random| random.pick(&blocks(other)))),
    (1, "an event name", |random, stream, _| {
        let line = format!("event: {}\n", random.word("events", "*"));
        for_one(random, stream, blocks, |block| [line.into(), block].concat());
    }),
    (1, "fields get lost", |random, stream, _| for field in random.fields(stream) { remove(stream, &field); }),
    (1, "fields move to the front", |random, stream, _| for field in random.fields(stream) {
        let text = remove(stream, &field);
        add(stream, field.object, &text);
    }),
    (4, "fields change", |random, stream, _| {
        let mut word = String::new();
        for field in random.fields(stream) {
            if word.is_empty() || random.below(2) == 0 { word = random.word("values", &field.name) }
            replace(stream, field.value, &word);
        }
    }),
    (1, "fields are there twice", |random, stream, _| for field in random.fields(stream) {
        let text = format!("\"{}\":{}", field.name, random.word("values", &field.name));
        match random.below(2) {
            0 => add(stream, field.object, &text),
            _ => replace(stream, field.value.end..field.value.end, ",".to_owned() + &text),
        }
    }),
    (1, "fields have another name", |random, stream, _| for field in random.fields(stream) {
        replace(stream, field.key, format!("\"{}\"", random.word("names", &field.name)));
    }),
    (3, "a field comes in", |random, stream, _| {
        let (_, objects) = scan(stream);
        if let Some((name, at)) = objects.get(random.below(objects.len())) { add(stream, *at, &random.word("fields", name)) }
    }),
    (1, "objects as text, text as objects", |random, stream, _| for field in random.fields(stream) {
        let value = text(stream, &field.value);
        let quoted = || format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""));
        let text = value.strip_prefix('"').map(|text| text.trim_end_matches('"').replace("\\\"", "\""));
        replace(stream, field.value, text.unwrap_or_else(quoted));
    }),
    (2, "a text in two pieces", text_in_two_pieces),
];

/// The frame comes twice, with a part of a text each; the cut may be in the middle of a surrogate pair.
fn text_in_two_pieces(random: &mut Random, stream: &mut Vec<u8>, _: &[u8]) {
    let Some(Field { value, .. }) = random.fields(stream).pop() else { return };
    let cut = value.start + 1 + random.below(value.len().saturating_sub(1));
    let (high, low) = random.pick(&[("", ""), ("", ""), (r"\ud83d", r"\ude00"), (r"\ud83d", r"\ud83d"), (r"\ude00", "")]);
    let mut end = 0;
    for_each(stream, blocks, |block| {
        let start = end;
        end += block.len();
        if !(start..end).contains(&(value.end - 1)) { return block }
        let (from, cut, to) = (value.start + 1 - start, cut - start, value.end - 1 - start);
        [&block[..cut], high.as_bytes(), &block[to..], &block[..from], low.as_bytes(), &block[cut..]].concat()
    });
}

// ---------- parts of a stream

/// Takes any range: a change to one field may have moved another.
fn replace(stream: &mut Vec<u8>, range: Range<usize>, text: impl AsRef<[u8]>) {
    let end = range.end.min(stream.len());
    stream.splice(range.start.min(end)..end, text.as_ref().iter().copied());
}

/// The lines, each with its end.
fn lines(stream: &[u8]) -> Vec<Vec<u8>> {
    let is_end = |at: usize| stream[at] == b'\n' || stream[at] == b'\r' && stream.get(at + 1) != Some(&b'\n');
    let ends: Vec<usize> = (0..stream.len()).filter(|at| is_end(*at)).map(|at| at + 1).chain([stream.len()]).collect();
    ends.iter().scan(0, |start, end| Some(stream[core::mem::replace(start, *end)..*end].to_vec())).collect()
}

/// The lines up to a blank one, and that one, joined.
fn blocks(stream: &[u8]) -> Vec<Vec<u8>> {
    let is_blank = |line: &Vec<u8>| matches!(line[..], [b'\n'] | [b'\r'] | [b'\r', b'\n']);
    lines(stream).split_inclusive(is_blank).map(<[_]>::concat).collect()
}

type Split = fn(&[u8]) -> Vec<Vec<u8>>;

fn edit(stream: &mut Vec<u8>, split: Split, edit: impl FnOnce(&mut Vec<Vec<u8>>)) {
    let mut parts = split(stream);
    edit(&mut parts);
    *stream = parts.concat();
}

fn insert(random: &mut Random, stream: &mut Vec<u8>, split: Split, part: impl FnOnce(&mut Random) -> Vec<u8>) {
    let part = part(random);
    edit(stream, split, |parts| parts.insert(random.below(parts.len() + 1), part));
}

fn for_each(stream: &mut Vec<u8>, split: Split, change: impl FnMut(Vec<u8>) -> Vec<u8>) {
    edit(stream, split, |parts| *parts = core::mem::take(parts).into_iter().map(change).collect());
}

fn for_one(random: &mut Random, stream: &mut Vec<u8>, split: Split, change: impl FnOnce(Vec<u8>) -> Vec<u8>) {
    edit(stream, split, |parts| { let at = random.below(parts.len()); parts[at] = change(core::mem::take(&mut parts[at])) });
}

fn without_data(text: Vec<u8>) -> Vec<u8> {
    [&b"data: "[..], b"data:"].iter().find_map(|name| text.strip_prefix(*name)).unwrap_or(&text).to_vec()
}

fn shuffle(random: &mut Random, parts: &mut Vec<Vec<u8>>) {
    let from = random.below(parts.len());
    let part = if random.below(2) == 0 { parts.remove(from) } else { parts[from].clone() };
    if random.below(3) > 0 {
        parts.insert(random.below(parts.len() + 1), part);
    }
}

// ---------- JSON in a stream

/// A field of an object, as places in the stream.
struct Field { name: String, object: usize, key: Range<usize>, value: Range<usize> }
/// What is open: whether it is an object, its name, where it begins, the key that waits for its value.
type Open = (bool, String, usize, Range<usize>);

/// The fields and the objects of the JSON in each line, as far as it is JSON. An object's name is the key that it is under,
/// `payload` if it is under none; its place is where its first field is.
fn scan(stream: &[u8]) -> (Vec<Field>, Vec<(String, usize)>) {
    let (mut fields, mut objects, mut start) = (Vec::new(), Vec::new(), 0);
    for line in lines(stream) {
        let mut open: Vec<Open> = Vec::new();
        let (mut at, end) = (start, start + line.len());
        start = end;
        while at < end {
            let (token, byte) = (at, stream[at]);
            at += 1;
            if matches!(byte, b'{' | b'[') {
                let name = |(is_object, name, _, key): &Open| if *is_object { unquoted(stream, key) } else { name.clone() };
                open.push((byte == b'{', open.last().map_or("payload".into(), name), at, 0..0));
                objects.extend(open.last().filter(|open| open.0).map(|open| (open.1.clone(), at)));
                continue;
            }
            let is_in = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
            let from = match byte {
                b'}' | b']' if !open.is_empty() => open.pop().map_or(token, |open| open.2 - 1),
                b'"' => {
                    while at < end && stream[at] != b'"' { at += if stream[at] == b'\\' { 2 } else { 1 } }
                    token
                }
                _ if is_in(&byte) => { at += stream[at..end].iter().take_while(|byte| is_in(byte)).count(); token }
                _ => continue,
            };
            at = if byte == b'"' { end.min(at + 1) } else { at };
            match open.last_mut() {
                Some((true, _, _, key)) if key.start == key.end => *key = from..at,
                Some((true, _, object, key)) => {
                    let (name, key) = (unquoted(stream, key), core::mem::take(key));
                    fields.push(Field { name, object: *object, key, value: from..at });
                }
                _ => {}
            }
        }
    }
    (fields, objects)
}

fn text(stream: &[u8], range: &Range<usize>) -> String {
    String::from_utf8_lossy(stream.get(range.clone()).unwrap_or_default()).into()
}
fn unquoted(stream: &[u8], key: &Range<usize>) -> String {
    text(stream, key).replace('"', "")
}

/// Puts a field at the start of an object.
fn add(stream: &mut Vec<u8>, at: usize, field: &str) {
    let comma = if stream.get(at) == Some(&b'}') { "" } else { "," };
    replace(stream, at..at, field.to_owned() + comma);
}

/// Takes a field away: its text, without the comma.
fn remove(stream: &mut Vec<u8>, field: &Field) -> String {
    let (start, end) = (field.key.start, field.value.end);
    let (removed, after) = (text(stream, &(start..end)), stream.get(end) == Some(&b','));
    let before = start > 0 && stream.get(start - 1) == Some(&b',');
    replace(stream, start - usize::from(before && !after)..end + usize::from(after), "");
    removed
}

// ---------- chance, and its words

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
    /// Less than `end`; 0 if nothing is.
    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() >> 33).unwrap_or_default() % end.max(1)
    }
    pub fn pick<T: Clone>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())].clone()
    }
    /// A field, or all of its name; the last one first, so that the places of the others hold while they are changed.
    fn fields(&mut self, stream: &[u8]) -> Vec<Field> {
        let (mut fields, _) = scan(stream);
        if self.below(2) == 0 {
            fields.retain(|field| words("values", &field.name).is_some());
        }
        let (at, all) = (self.below(fields.len()), self.below(3) == 0);
        let (name, place) = fields.get(at).map(|field| (field.name.clone(), field.key.start)).unwrap_or_default();
        fields.retain(|field| field.key.start == place || all && field.name == name);
        fields.sort_by_key(|field| core::cmp::Reverse(field.key.start));
        fields
    }
    /// A word for this name, or one for any.
    fn word(&mut self, section: &str, name: &str) -> String {
        let own = words(section, name).filter(|_| self.below(6) > 0);
        let words: Vec<_> = own.or(words(section, "*")).unwrap_or_default().split(" | ").collect();
        plain(self.pick(&words))
    }
    /// A line, or a few, of a stream.
    fn line(&mut self, end: &str) -> Vec<u8> {
        (plain(self.pick(&section("lines").collect::<Vec<_>>())) + end).into()
    }
}

/// The lines of a section of the words.
fn section(name: &str) -> impl Iterator<Item = &'static str> {
    let sections = include_str!("words.txt").split("\n\n## ").filter_map(|section| section.split_once('\n'));
    sections.filter(move |(title, _)| *title == name).flat_map(|(_, lines)| lines.lines())
}

fn words(section_name: &str, name: &str) -> Option<&'static str> {
    section(section_name).find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

fn plain(word: &str) -> String {
    word.replace('⏎', "\n").replace('␣', " ").replace('→', "\t").replace("<deep>", &("[".repeat(130) + &"]".repeat(130)))
}

const BYTES: &[&[u8]] = &[b"\xff", b"\xe2\x82", b"\xed\xa0\x80", b"\xc3", b"\0", b"\x0b", b"\x1c", b"\"", b"\\", b"{", b"}", b"[",
    b",", b":", b" ", b"\t", b"\n", b"\r", b"\r\n", b"\n\n", b"\n\r", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\xc2\x85", b"\xc2\xa0"];
const LINE_ENDS: &[&[u8]] = &[b"\n", b"\r", b"\r\n"];
