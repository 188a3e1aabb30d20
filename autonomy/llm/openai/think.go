package openai

import "strings"

// thinkSplitter separates the reasoning from the answer. Servers that lack a model's template send
// the reasoning as <think>...</think> at the beginning of the text. Anywhere else the tag is part
// of the answer.
type thinkSplitter struct {
	state thinkState
	held  string // text that may be the beginning of a tag
}

type thinkState uint8

const (
	atStart thinkState = iota
	inThought
	afterThought // white space between the reasoning and the answer is removed
	inText
)

const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
)

// addPiece processes the next piece and returns the reasoning and the text in it.
func (t *thinkSplitter) addPiece(piece string) (thought, text string) {
	s := t.held + piece
	t.held = ""
	if t.state == atStart {
		trimmed := strings.TrimLeft(s, " \t\r\n")
		switch {
		case strings.HasPrefix(trimmed, thinkOpen):
			t.state = inThought
			s = trimmed[len(thinkOpen):]
		case strings.HasPrefix(thinkOpen, trimmed):
			t.held = s
			return "", ""
		default:
			t.state = inText
		}
	}
	if t.state == inThought {
		before, after, found := strings.Cut(s, thinkClose)
		if !found {
			n := partialSuffix(s, thinkClose)
			t.held = s[len(s)-n:]
			return s[:len(s)-n], ""
		}
		thought, s = before, after
		t.state = afterThought
	}
	if t.state == afterThought {
		if s = strings.TrimLeft(s, " \t\r\n"); s == "" {
			return thought, ""
		}
		t.state = inText
	}
	return thought, s
}

// flushRest returns the remaining buffered text at the end of the stream.
func (t *thinkSplitter) flushRest() (thought, text string) {
	s := t.held
	t.held = ""
	if t.state == inThought {
		return s, ""
	}
	return "", s
}

// partialSuffix returns the length of the longest suffix of s that is a prefix of tag.
func partialSuffix(s, tag string) int {
	for n := min(len(s), len(tag)-1); n > 0; n-- {
		if strings.HasSuffix(s, tag[:n]) {
			return n
		}
	}
	return 0
}
