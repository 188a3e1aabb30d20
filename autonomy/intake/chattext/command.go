package chattext

import (
	"regexp"
	"strings"

	"hob/channels"
)

// Commands with a meaning outside the package that runs them.
const (
	// Steer is the command "/steer TEXT", with which the user sends text to a running turn.
	Steer = "steer"
	// Forget is the command "/forget TEXT". It asks before it deletes, so it runs among the
	// messages of its conversation: the approval is a command, which must not wait behind it.
	Forget = "forget"
	// New ends a conversation.
	New = "new"
	// Unknown stands for a lone word with a slash that is not a command. It is probably a typo,
	// so no model reads it. Help does not list it.
	Unknown = "unknown"
	// Approve approves an approval request.
	Approve = "approve"
	// Deny denies an approval request.
	Deny = "deny"
)

// All selects every approval of the batch that was shown, as in "/yes all".
const All = "all"

// Command describes one chat command.
type Command struct {
	Names []string // the first one identifies it, the others are aliases
	Args  string   // the arguments, as help shows them
	About string   // "" if help does not list it
}

// Commands lists the chat commands in the order help shows.
func Commands() []Command {
	return []Command{
		{[]string{"stop", "kill"}, "", "stop what I am doing here"},
		{[]string{Steer}, "TEXT", "say something to the turn that is running"},
		{[]string{New, "reset"}, "", "begin a fresh conversation"},
		{[]string{"status"}, "", "what I am doing"},
		{[]string{"undo"}, "[ID|N|all]", "undo my last action, the last N, or everything my last answer did"},
		{[]string{"redo"}, "[ID]", "do again what was undone last"},
		{[]string{Forget}, "TEXT", "delete that permanently everywhere; I list it and ask first"},
		{[]string{Approve, "yes", "y"}, "[ID|all] [session|task|pattern] [for 1h]", "say yes to my question, and to more like it"},
		{[]string{Deny, "no", "n"}, "[ID|all] [why]", "say no to my question"},
		{[]string{"grants"}, "", "what you have allowed beforehand"},
		{[]string{"revoke"}, "[ID]", "revoke what you have allowed"},
		{[]string{"agent"}, "[NAME|auto]", "who answers here, or let another agent answer"},
		{[]string{"why"}, "[ID]", "why I did or said something"},
		{[]string{"quiet"}, "[2h|until 9:00|off]", "hold what is not critical for that long, or no more"},
		{[]string{"pause"}, "[1h|until tomorrow|off]", "begin nothing by myself for that long; what comes waits"},
		{[]string{"resume"}, "", "end the pause"},
		{[]string{"snooze"}, "[ID] 1h", "send my last notice again, or that one, at that time"},
		{[]string{"model"}, "[NAME|auto]", "which model answers here, or choose one"},
		{[]string{"help"}, "", "this list"},
		{[]string{"pair"}, "CHANNEL", "a code with which you prove who you are on another channel"},
		{[]string{strings.TrimPrefix(channels.PairedCommand, "/")}, "", ""},
		{[]string{Unknown}, "", ""},
	}
}

var slashWord = regexp.MustCompile(`^/\pL+$`)

// ParseCommand splits "/stop now" (or "!stop", where a client swallows slashes) into the
// command's first name and its arguments. name is "" if the text is not a command.
func ParseCommand(text string) (name, args string) {
	text = address.ReplaceAllString(strings.TrimSpace(text), "")
	if len(text) < 2 || (text[0] != '/' && text[0] != '!') {
		return "", ""
	}
	word, rest, _ := strings.Cut(text[1:], " ")
	word, _, _ = strings.Cut(strings.ToLower(word), "@") // "/stop@hobbot" in groups
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

// SteerText returns the text after the steer command, and any other text unchanged.
func SteerText(text string) string {
	if name, args := ParseCommand(text); name == Steer {
		return args
	}
	return text
}

// HelpText lists the commands for the user.
func HelpText() string {
	var b strings.Builder
	for _, c := range Commands() {
		if c.About == "" {
			continue
		}
		b.WriteString(strings.TrimRight("/"+c.Names[0]+" "+c.Args, " ") + " — " + c.About + "\n")
	}
	b.WriteString("Everything else you write is for me to answer.")
	return b.String()
}
