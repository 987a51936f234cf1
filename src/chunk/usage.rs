//! Token counts.

use serde::Serialize;

use super::Extra;

/// Token counts. A count that was not sent is none, not 0.
///
/// ```
/// use chatwire::Chunk;
/// let chunk = Chunk::from_json(r#"{"choices":[],"usage":{"prompt_tokens":9,"total_tokens":"12","cost":0.5}}"#)?;
/// let usage = chunk.usage.unwrap();
/// assert_eq!((usage.prompt_tokens, usage.completion_tokens, usage.total_tokens), (Some(9), None, Some(12)));
/// assert_eq!(usage.extra.get("cost"), Some(0.5.into()));
/// # Ok::<(), chatwire::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct Usage {
    /// Tokens of the request. Also read from `input_tokens`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_tokens: Option<u64>,
    /// Tokens of the answer. Also read from `output_tokens`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_tokens: Option<u64>,
    /// The sum, as sent: some providers count reasoning apart. Never computed here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_tokens: Option<u64>,
    /// What the request's tokens were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_tokens_details: Option<PromptTokensDetails>,
    /// What the answer's tokens were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_tokens_details: Option<CompletionTokensDetails>,
    /// Fields that are not OpenAI's (`cost`, `queue_time`, ...).
    #[serde(flatten)]
    pub extra: Extra,
}

impl Usage {
    /// Whether it has no count at all: then it is no usage.
    ///
    /// ```
    /// assert!(chatwire::Usage::default().is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts().iter().all(Option::is_none)
    }

    /// Whether every count is 0.
    pub(crate) fn is_zero(&self) -> bool {
        self.counts().iter().all(|count| count.unwrap_or(0) == 0)
    }

    /// About how many bytes it takes beside the counts.
    pub(crate) fn weight(&self) -> usize {
        self.extras().map(Extra::weight).sum()
    }

    /// Whether it says the same in the same words.
    pub(crate) fn is_same_text(&self, other: &Self) -> bool {
        self.extras()
            .zip(other.extras())
            .all(|(one, another)| one.is_same_text(another))
            && self.without_extra() == other.without_extra()
    }

    /// Its own unknown fields and those of its details.
    fn extras(&self) -> impl Iterator<Item = &Extra> {
        const NONE: &Extra = &Extra::new();
        let prompt = self.prompt_tokens_details.as_ref();
        let completion = self.completion_tokens_details.as_ref();
        [
            &self.extra,
            prompt.map_or(NONE, |details| &details.extra),
            completion.map_or(NONE, |details| &details.extra),
        ]
        .into_iter()
    }

    /// The counts alone.
    pub(crate) fn without_extra(&self) -> Self {
        let mut counts = Self {
            prompt_tokens: self.prompt_tokens,
            completion_tokens: self.completion_tokens,
            total_tokens: self.total_tokens,
            ..Self::default()
        };
        if let Some(details) = &self.prompt_tokens_details {
            counts.prompt_tokens_details = Some(PromptTokensDetails {
                extra: Extra::default(),
                ..*details
            });
        }
        if let Some(details) = &self.completion_tokens_details {
            counts.completion_tokens_details = Some(CompletionTokensDetails {
                extra: Extra::default(),
                ..*details
            });
        }
        counts
    }

    fn counts(&self) -> [Option<u64>; 3] {
        [
            self.prompt_tokens,
            self.completion_tokens,
            self.total_tokens,
        ]
    }
}

/// What the request's tokens were. The parts need not add up to the whole.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct PromptTokensDetails {
    /// Read from the prompt cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u64>,
    /// Written to the prompt cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_tokens: Option<u64>,
    /// Audio.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audio_tokens: Option<u64>,
    /// Text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_tokens: Option<u64>,
    /// Images.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_tokens: Option<u64>,
    /// Fields that are not OpenAI's.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What the answer's tokens were. The parts need not add up to the whole.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct CompletionTokensDetails {
    /// Reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
    /// Audio.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audio_tokens: Option<u64>,
    /// Text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_tokens: Option<u64>,
    /// Of a predicted output: what was used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted_prediction_tokens: Option<u64>,
    /// Of a predicted output: what was not used, and is billed all the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rejected_prediction_tokens: Option<u64>,
    /// Fields that are not OpenAI's.
    #[serde(flatten)]
    pub extra: Extra,
}
