//! Goes past a value of any depth without recursion, checking that it is JSON.

use alloc::vec::Vec;

use super::string::Text;
use super::{Notes, Reader, Result, Scratch};

/// Which of the open containers are objects: one bit each.
#[derive(Debug, Default)]
struct Open {
    /// The innermost ones, at most 64.
    word: u64,
    len: usize,
    outer: Vec<u64>,
}

impl Open {
    fn push(&mut self, is_object: bool) {
        if self.len > 0 && self.len % 64 == 0 {
            self.outer.push(self.word);
        }
        self.word = self.word << 1 | u64::from(is_object);
        self.len += 1;
    }

    fn pop(&mut self) {
        self.len -= 1;
        self.word >>= 1;
        if self.len > 0 && self.len % 64 == 0 {
            self.word = self.outer.pop().unwrap_or_default();
        }
    }

    /// Whether the innermost one is an object; none if no container is open.
    fn innermost(&self) -> Option<bool> {
        (self.len > 0).then_some(self.word & 1 == 1)
    }
}

impl Reader<'_, '_> {
    /// Goes past one value. True if it was too deep to be kept.
    pub(in crate::chunk) fn skip(&mut self) -> Result<bool> {
        let mut open = Open::default();
        let mut deepest = 0;
        loop {
            // A value is next.
            match self.peek_token() {
                Some(b'"') => self.skip_string()?,
                Some(b't') => self.literal("true")?,
                Some(b'f') => self.literal("false")?,
                Some(b'n') => self.literal("null")?,
                Some(b'{' | b'[') if self.opens(&mut open) => {
                    deepest = deepest.max(open.len);
                    if open.innermost() == Some(true) {
                        self.skip_key()?;
                    }
                    continue;
                }
                Some(b'{' | b'[') => deepest = deepest.max(open.len + 1),
                _ if self.is_not_finite() => self.not_finite()?,
                Some(b'-' | b'0'..=b'9') => self.skip_number()?,
                _ => return self.error("a value"),
            }
            // A value was read: what comes after it, and after each container that ends here.
            loop {
                let Some(is_object) = open.innermost() else {
                    let is_too_deep = self.depth + deepest > self.max_depth;
                    self.is_too_deep |= is_too_deep;
                    self.deepest = deepest;
                    return Ok(is_too_deep);
                };
                match self.peek_token() {
                    Some(b',') => {
                        self.at += 1;
                        if is_object {
                            self.skip_key()?;
                        }
                        break;
                    }
                    Some(b'}') if is_object => {}
                    Some(b']') if !is_object => {}
                    _ => return self.error("a comma or the end of a container"),
                }
                self.at += 1;
                open.pop();
            }
        }
    }

    /// Takes the start of a container. False if it is empty: then its end was taken too.
    fn opens(&mut self, open: &mut Open) -> bool {
        let is_object = self.peek() == Some(b'{');
        self.at += 1;
        let end = if is_object { b'}' } else { b']' };
        if self.peek_token() == Some(end) {
            self.at += 1;
            return false;
        }
        open.push(is_object);
        true
    }

    fn skip_key(&mut self) -> Result<()> {
        if self.peek_token() != Some(b'"') {
            return self.error("a key");
        }
        self.skip_string()?;
        self.colon()
    }

    pub(super) fn colon(&mut self) -> Result<()> {
        if self.peek_token() != Some(b':') {
            return self.error("a colon");
        }
        self.at += 1;
        Ok(())
    }
}

/// Whether a text is an object or a list, no deeper than so many levels, and has members. None if it is none, or if there
/// is anything in it that is no JSON.
pub(crate) fn container(text: &str, max_depth: usize) -> Option<bool> {
    let (mut scratch, notes) = (Scratch::default(), Notes::default());
    let mut reader = Reader::new(text, 0, max_depth, &mut scratch, &notes);
    if !matches!(reader.peek_token(), Some(b'{' | b'[')) {
        return None;
    }
    let start = reader.at;
    if reader.skip() != Ok(false) || reader.peek_token().is_some() || !reader.tolerated.is_empty() {
        return None;
    }
    reader.at = start + 1;
    Some(!matches!(reader.peek_token(), Some(b'}' | b']')))
}

impl<'de> Reader<'de, '_> {
    /// Goes through the members of an object, which is next: `member` reads each value.
    pub(in crate::chunk) fn members(
        &mut self,
        mut member: impl FnMut(&mut Self, &'de str) -> Result<()>,
    ) -> Result<()> {
        self.at += 1;
        let mut is_first = true;
        while self.next_member(&mut is_first, b'}')? {
            if self.peek_token() != Some(b'"') {
                return self.error("a key");
            }
            // A key with an escape is none that is known.
            let key = if let Text::Plain(key) = self.string()? {
                key
            } else {
                ""
            };
            self.colon()?;
            member(self, key)?;
        }
        Ok(())
    }

    /// Goes through the elements of a list, which is next.
    pub(in crate::chunk) fn elements(
        &mut self,
        mut element: impl FnMut(&mut Self) -> Result<()>,
    ) -> Result<()> {
        self.at += 1;
        let mut is_first = true;
        while self.next_member(&mut is_first, b']')? {
            element(self)?;
        }
        Ok(())
    }
}
