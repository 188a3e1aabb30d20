// Package textnorm normalizes and compares typed text. It ignores case, accents and punctuation,
// and can match text by some of its words. It does not parse grammar; package dateparse parses
// dates.
package textnorm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Fold converts s to lower case and removes accents: "Café" becomes "cafe". Invalid UTF-8 becomes
// U+FFFD.
func Fold(s string) string {
	ascii := true
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			ascii = false
			break
		}
	}
	if ascii {
		return strings.ToLower(s)
	}
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range norm.NFKD.String(strings.ToValidUTF8(s, "\uFFFD")) {
		if r < 0x300 || r > 0x36f { // combining diacritical marks; in other scripts, a mark makes a different letter
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return norm.NFC.String(b.String())
}

// FoldedWords folds s and splits it into words of letters, digits and marks. It drops a possessive
// "'s", so that "sister's" becomes "sister".
func FoldedWords(s string) []string { return splitWords(Fold(s)) }

// Words splits s into words as FoldedWords does, but without folding.
func Words(s string) []string { return splitWords(strings.ToValidUTF8(s, "\uFFFD")) }

func splitWords(s string) []string {
	s = strings.ReplaceAll(s, "’", "'")
	f := strings.FieldsFunc(s, func(r rune) bool {
		return r != '\'' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
	out := make([]string, 0, len(f))
	for _, w := range f {
		w = strings.Trim(w, "'")
		w = strings.TrimSuffix(strings.TrimSuffix(w, "'s"), "'S")
		for _, p := range strings.Split(w, "'") {
			if p != "" {
				out = append(out, p)
			}
		}
	}
	return out
}

// EqualFolded reports whether a and b differ only in case, accents, spaces and punctuation.
func EqualFolded(a, b string) bool {
	x, y := FoldedWords(a), FoldedWords(b)
	if len(x) == 0 || len(y) == 0 {
		return strings.TrimSpace(a) == strings.TrimSpace(b)
	}
	return strings.Join(x, " ") == strings.Join(y, " ")
}

// Ellipsize truncates s to at most n characters and appends "…" if s was longer. It replaces line
// breaks by spaces.
func Ellipsize(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	r := []rune(s)
	return strings.TrimRight(string(r[:max(n-1, 0)]), " ") + "…"
}

// ContainsAllWords reports whether text contains all words as substrings, ignoring case and
// accents.
func ContainsAllWords(text string, words []string) bool {
	have := Fold(text)
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(have, Fold(w)) })
}

// TruncateRunes returns the first n characters of s.
func TruncateRunes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// FirstLine returns the first line of s, truncated to 120 characters.
func FirstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	if short := TruncateRunes(s, 120); short != s {
		return short + "…"
	}
	return s
}

// SplitRemedy splits an error message into its cause and the remedy after the last "; ". It does
// not split a message of several lines, because it may contain several remedies.
func SplitRemedy(text string) (cause, remedy string) {
	i := strings.LastIndex(text, "; ")
	if i <= 0 || strings.Contains(text, "\n") {
		return text, ""
	}
	return text[:i], text[i+2:]
}

// FormatLength formats the length of a text: "1,234 characters".
func FormatLength(text string) string {
	digits := strconv.Itoa(utf8.RuneCountInString(text))
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	if digits == "1" {
		return "1 character"
	}
	return digits + " characters"
}

// FormatCount shortens a number of 0 or more: "950", "12.3k", "4.5M".
func FormatCount(n int) string {
	switch {
	case n < 1000:
		return strconv.Itoa(n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1e6)
}

// FormatDollars formats an estimated cost in US dollars of 0 or more: "$0", "$0.0042", "$1.50".
func FormatDollars(usd float64) string {
	switch {
	case usd == 0:
		return "$0"
	case usd < 0.01:
		return fmt.Sprintf("$%.4f", usd)
	}
	return fmt.Sprintf("$%.2f", usd)
}

// CountNoun formats a number with its noun: "1 day", "3 days".
func CountNoun(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// Similar rates the similarity of two words or titles from 0 (nothing in common) to 1 (equal) as
// the Dice coefficient of their letter pairs.
func Similar(a, b string) float64 {
	x, y := letterPairs(a), letterPairs(b)
	if len(x) == 0 || len(y) == 0 {
		return 0
	}
	have := map[string]int{}
	for _, p := range x {
		have[p]++
	}
	common := 0
	for _, p := range y {
		if have[p] > 0 {
			have[p]--
			common++
		}
	}
	return 2 * float64(common) / float64(len(x)+len(y))
}

func letterPairs(s string) []string {
	var out []string
	for _, w := range FoldedWords(s) {
		r := []rune(" " + w + " ")
		for i := range len(r) - 1 {
			out = append(out, string(r[i:i+2]))
		}
	}
	return out
}
