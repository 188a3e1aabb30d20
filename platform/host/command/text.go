package command

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// checkText rejects text that the user could not read as written: invisible characters and
// characters that change the text direction.
func checkText(text string) error {
	bad := func(message, remedy string) error {
		return &Refusal{Err: ErrInvalid, Message: message, Remedy: remedy}
	}
	switch {
	case strings.TrimSpace(text) == "":
		return bad("the command is empty", "name a program")
	case !utf8.ValidString(text):
		return bad("the command is not text", "write it in UTF-8")
	case utf8.RuneCountInString(text) > MaxText:
		return bad(fmt.Sprintf("the command is longer than %d characters", MaxText), "put long text into a file, or split the command")
	}
	for _, r := range text {
		if isHiddenRune(r) {
			return bad(fmt.Sprintf("the command contains an invisible character (%U)", r), "remove it")
		}
	}
	return nil
}

func isHiddenRune(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case unicode.Is(unicode.Cc, r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Co, r):
		return true
	case unicode.Is(unicode.Zs, r) && r != ' ', unicode.Is(unicode.Zl, r), unicode.Is(unicode.Zp, r):
		return true
	case r >= 0xFE00 && r <= 0xFE0F, r >= 0xE0100 && r <= 0xE01EF, r == 0x3164, r == 0x115F, r == 0x1160, r == 0xFFA0, r == 0x2800:
		return true
	}
	return false
}

// parseBash parses a command as Bash does.
func parseBash(text string) (*syntax.File, error) {
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).Parse(strings.NewReader(text), "")
	if err != nil {
		return nil, &Refusal{Err: ErrInvalid, Message: "the command is not valid shell syntax: " + err.Error(), Remedy: "correct it"}
	}
	return f, nil
}
