// Package chattext interprets a chat message without a model: it recognizes a slash command or a
// bare answer to a question. It does not know the conversation and decides nothing.
package chattext

import (
	"strings"

	"hob/platform/text/lazyregexp"
)

// Answer is the meaning of a message as the answer to a question. The message is not a command.
type Answer struct {
	Yes, All bool
	// Talk reports conversational agreement, such as "ok", which decides nothing.
	Talk bool
}

// address matches the name with which people address Hob in a group.
var address = lazyregexp.New(`(?i)^@?hob[,:]?\s+`)

// yesWords and noWords answer a question. Vaguer words are conversation, because people say "ok" in
// many other situations.
const (
	yesWords  = "|yes|y|ja|oui|si|sí|yes please|approve|"
	noWords   = "|no|n|nein|non|nope|no thanks|don't|do not|deny|cancel|"
	talkWords = "|ok|okay|k|sure|do it|go ahead|yep|yeah|yup|confirm|confirmed|fine|alright|all right|go|proceed|of course|please do|sounds good|agreed|d'accord|in ordnung|klar|vale|claro|genau|"
	allYes    = "|yes to all|yes all|yes to all of them|approve all|all yes|"
	allNo     = "|no to all|no all|no to all of them|deny all|all no|none|none of them|"
)

// ParseAnswer parses a bare yes or no, such as "yes" or "Hob, yes", or a word of agreement.
func ParseAnswer(text string) (Answer, bool) {
	text = address.ReplaceAllString(strings.TrimSpace(text), "")
	text = strings.ToLower(strings.Trim(text, ".,!?;: \t\r\n"))
	text = strings.Join(strings.Fields(strings.ReplaceAll(text, "\u2019", "'")), " ")
	if text == "" || len(text) > 40 || strings.Contains(text, "|") {
		return Answer{}, false
	}
	switch word := "|" + text + "|"; {
	case strings.Contains(allYes, word):
		return Answer{Yes: true, All: true}, true
	case strings.Contains(allNo, word):
		return Answer{All: true}, true
	case strings.Contains(yesWords, word):
		return Answer{Yes: true}, true
	case strings.Contains(noWords, word):
		return Answer{}, true
	case strings.Contains(talkWords, word):
		return Answer{Talk: true}, true
	}
	return Answer{}, false
}

// MayDecide reports whether a message from the owner is a command or a clear answer to a question,
// and not only conversation.
func MayDecide(text string) bool {
	name, _ := ParseCommand(text)
	said, answer := ParseAnswer(text)
	return name != "" || answer && !said.Talk
}
