package chattext

import (
	"strings"

	"hob/channels"
	"hob/platform/text/lazyregexp"
)

// Commands that are also used outside the package that runs them.
const (
	// Steer is the command "/steer TEXT", with which the user sends text to a running turn.
	Steer = "steer"
	// Forget is the command "/forget TEXT". It requires approval before it deletes, so it runs in
	// the queue of its conversation's messages. The approval is a command with a separate queue, so
	// it does not wait behind the forget command.
	Forget = "forget"
	// New is the command that ends a conversation.
	New = "new"
	// Unknown stands for a message that is a single word with a slash but not a command. It is
	// probably a typo, so no model reads it. Help does not list it.
	Unknown = "unknown"
	// Approve is the command that approves an approval request.
	Approve = "approve"
	// Deny is the command that denies an approval request.
	Deny = "deny"
)

// All selects every request in the batch that was shown, as in "/yes all".
const All = "all"

// Command describes one chat command.
type Command struct {
	Names []string // the first name identifies the command; the others are aliases
	Args  string   // the arguments as shown in help
	About string   // "" if help does not list the command
}

// Commands lists the chat commands in the order used in help.
func Commands() []Command {
	return []Command{
		{[]string{"stop", "kill"}, "", "stop the work in this conversation"},
		{[]string{Steer}, "TEXT", "send a message to the running turn"},
		{[]string{New, "reset"}, "", "start a new conversation"},
		{[]string{"status"}, "", "show what I am doing"},
		{[]string{"undo"}, "[ID|N|all]", "undo my last action, the last N actions, or everything done for my last answer"},
		{[]string{"redo"}, "[ID]", "redo the last undone action"},
		{[]string{Forget}, "TEXT", "permanently delete everything that contains this text; I list it and ask first"},
		{[]string{Approve, "yes", "y"}, "[ID|all] [session|task|pattern] [for 1h]", "approve my request, and optionally similar ones"},
		{[]string{Deny, "no", "n"}, "[ID|all] [why]", "deny my request"},
		{[]string{"grants"}, "", "list your grants"},
		{[]string{"revoke"}, "[ID]", "revoke a grant"},
		{[]string{"agent"}, "[NAME|auto]", "show which agent answers here, or choose one"},
		{[]string{"why"}, "[ID]", "explain why I did or said something"},
		{[]string{"quiet"}, "[2h|until 9:00|off]", "defer notifications that are not critical, for a duration or until a time"},
		{[]string{"pause"}, "[1h|until tomorrow|off]", "pause background work, for a duration or until a time"},
		{[]string{"resume"}, "", "end the pause"},
		{[]string{"snooze"}, "[ID] 1h", "repeat my last notification, or the one with the ID, at a later time"},
		{[]string{"model"}, "[NAME|auto]", "show which model answers here, or choose one"},
		{[]string{"help"}, "", "show this list"},
		{[]string{"pair"}, "CHANNEL", "get a code that pairs your account on another channel"},
		{[]string{strings.TrimPrefix(channels.PairedCommand, "/")}, "", ""},
		{[]string{Unknown}, "", ""},
	}
}

var slashWord = lazyregexp.New(`^/\pL+$`)

// ParseCommand splits "/stop now" into the command's first name and its arguments. It also accepts
// "!stop", because some clients swallow slashes. name is "" if text is not a command.
func ParseCommand(text string) (name, args string) {
	text = address.ReplaceAllString(strings.TrimSpace(text), "")
	if len(text) < 2 || (text[0] != '/' && text[0] != '!') {
		return "", ""
	}
	word, rest, _ := strings.Cut(text[1:], " ")
	word, _, _ = strings.Cut(strings.ToLower(word), "@") // groups use the form "/stop@hobbot"
	for _, c := range Commands() {
		for _, n := range c.Names {
			if n == word {
				return c.Names[0], strings.TrimSpace(rest)
			}
		}
	}
	if slashWord.MatchString(text) {
		return Unknown, text
	}
	return "", ""
}

// SteerText returns the text after the steer command. It returns other text unchanged.
func SteerText(text string) string {
	if name, args := ParseCommand(text); name == Steer {
		return args
	}
	return text
}

// HelpText returns the list of commands for the user.
func HelpText() string {
	var b strings.Builder
	for _, c := range Commands() {
		if c.About == "" {
			continue
		}
		b.WriteString(strings.TrimRight("/"+c.Names[0]+" "+c.Args, " ") + " — " + c.About + "\n")
	}
	b.WriteString("I answer everything else you write.")
	return b.String()
}
