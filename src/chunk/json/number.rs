//! Numbers.

use super::{Reader, Result};
use crate::Deviation;

/// A number as JSON writes it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Number {
    Unsigned(u64),
    Negative(i64),
    /// Infinite if it is out of range.
    Float(f64),
}

/// What the grammar tells of a number.
#[derive(Debug, Clone, Copy)]
struct Shape {
    /// The digits before a fraction; wrong if they are too many.
    integer: u64,
    is_integer: bool,
    has_exponent: bool,
}

impl Reader<'_, '_> {
    #[inline]
    pub(super) fn number(&mut self) -> Result<Number> {
        let (len, value) = self.small_integer();
        if len > 0 {
            self.at += len;
            return Ok(Number::Unsigned(value));
        }
        self.any_number()
    }

    /// The length and the value of the small integer that is next, as nearly all numbers are; 0 if there is none.
    #[inline(always)]
    fn small_integer(&self) -> (usize, u64) {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let (mut len, mut value) = (0, 0_u64);
        for byte in rest {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
            len += 1;
        }
        match (rest.first(), len, rest.get(len)) {
            (Some(b'0'), 1, Some(b',' | b']' | b'}')) => (1, 0),
            (Some(b'1'..=b'9'), 1..=19, Some(b',' | b']' | b'}')) => (len, value),
            _ => (0, 0),
        }
    }

    fn any_number(&mut self) -> Result<Number> {
        let start = self.at;
        let shape = self.number_shape()?;
        let text = self.slice(start, self.at);
        if !shape.is_integer {
            return Ok(Number::Float(self.float(text)));
        }
        // Any number of 19 digits fits.
        let fits = |digits: &str| digits.len() < 20 || digits.parse() == Ok(shape.integer);
        Ok(match text.strip_prefix('-') {
            None if fits(text) => Number::Unsigned(shape.integer),
            Some(digits) if shape.integer != 0 && fits(digits) => {
                match 0_i64.checked_sub_unsigned(shape.integer) {
                    Some(negative) => Number::Negative(negative),
                    None => Number::Float(self.float(text)),
                }
            }
            _ => Number::Float(self.float(text)),
        })
    }

    /// Goes past a number.
    #[inline(always)]
    pub(super) fn skip_number(&mut self) -> Result<()> {
        let (len, _) = self.small_integer();
        self.at += len;
        if len == 0 {
            self.skip_any_number()?;
        }
        Ok(())
    }

    fn skip_any_number(&mut self) -> Result<()> {
        let start = self.at;
        let shape = self.number_shape()?;
        let len = self.at - start;
        // So few digits without an exponent are in range.
        if shape.has_exponent || len > 300 {
            self.float(self.slice(start, self.at));
        }
        Ok(())
    }

    /// A number as a fraction. Rust reads JSON's grammar of numbers, and what is out of range as infinite.
    fn float(&mut self, text: &str) -> f64 {
        let float: f64 = text.parse().unwrap_or(f64::INFINITY);
        if !float.is_finite() {
            self.tolerated.insert(Deviation::NumberOutOfRange);
        }
        float
    }

    /// Goes past a number, looking at its grammar only.
    fn number_shape(&mut self) -> Result<Shape> {
        self.at += usize::from(self.peek() == Some(b'-'));
        let first_digit = self.peek();
        let (digits, integer) = self.digits();
        if digits == 0 || digits > 1 && first_digit == Some(b'0') {
            return self.error("a number");
        }
        let mut shape = Shape {
            integer,
            is_integer: true,
            has_exponent: false,
        };
        if self.peek() == Some(b'.') {
            self.at += 1;
            shape.is_integer = false;
            if self.digits().0 == 0 {
                return self.error("a digit");
            }
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            shape.is_integer = false;
            shape.has_exponent = true;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            if self.digits().0 == 0 {
                return self.error("a digit");
            }
        }
        Ok(shape)
    }

    /// Goes past digits: how many there are, and what they say if they are not too many.
    fn digits(&mut self) -> (usize, u64) {
        let (mut count, mut value) = (0, 0_u64);
        for byte in self.text.as_bytes().get(self.at..).unwrap_or_default() {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
            count += 1;
        }
        self.at += count;
        (count, value)
    }
}
