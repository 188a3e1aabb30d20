package offline

import (
	"strings"

	"hob/platform/text/lazyregexp"
)

func commandBuilders() map[string]builder {
	return map[string]builder{
		"command.run": func(w *intentDraft) (plan, bool) { return w.g.planCommand(w.s.text) },
	}
}

// runRequestForm matches a request to run a command: the words that say that a command follows, and
// the rest of the message.
var runRequestForm = lazyregexp.New(`(?is)^\s*(?:(?:hey|hi|ok|okay)[, ]+)?(?:[\w-]+[,:]\s+)?((?:please|can you|could you|would you)[, ]+(?:please )?)?(?:run|execute)\b\s*((?:(?:the |this |a )?(?:following )?(?:shell |terminal |bash )?command\b|the following|this)?\s*:?)\s*(.+?)\s*$`)

// quotedCommandForm matches a command in backticks, and the folder after it.
var quotedCommandForm = lazyregexp.New("(?s)^(?:```(?:\\w*\\n)?\\s*(.+?)\\s*```|`([^`]+)`)[.!?]?(?:\\s+in\\s+(\\S+?))?[.!?]?$")

// folderForm matches the folder at the end of a request, as in "run git status in ~/Documents".
var folderForm = lazyregexp.New(`(?s)^(.+?)\s+in\s+(?:the folder\s+)?((?:~|/|[A-Za-z]:\\)\S*?)[.!?]?$`)

// shellSyntax matches text that only a shell command contains: a flag, a pipe, a redirection, a
// variable, or a program with a path or the extension of a script.
var shellSyntax = lazyregexp.New(`(?i)(^|\s)--?[a-z]|\s(\||\|\||&&|>|>>|<)\s|\$[a-z({]|^(\./|\.\./|~/|/)\S|^\S+\.(sh|py|pl|rb|js)(\s|$)`)

// planCommand plans a request such as "run git status in ~/Documents". The guard decides whether the
// command needs approval, as for every model. The text of the command stays as written, so the
// request is recognized before the text is split into sentences and words. Without the word
// "command" or backticks, the text must look like a command: "run 5 km" does not.
func (g *grammar) planCommand(text string) (plan, bool) {
	m := runRequestForm.FindStringSubmatch(text)
	if m == nil {
		return noPlan()
	}
	polite, announced, command := m[1] != "", strings.Contains(strings.ToLower(m[2]), "command"), m[3]
	folder := ""
	if q := quotedCommandForm.FindStringSubmatch(command); q != nil {
		command, folder, announced = q[1]+q[2], q[3], true
	} else {
		if polite {
			command = strings.TrimSpace(strings.TrimSuffix(command, "?"))
		}
		command = strings.TrimSuffix(command, ", please")
		if f := folderForm.FindStringSubmatch(command); f != nil {
			command, folder = f[1], f[2]
		}
		if len(command) > 1 && isWordByte(command[len(command)-2]) {
			command = strings.TrimRight(command, ".!")
		}
	}
	program, _, _ := strings.Cut(command, " ")
	if g.isUnspecific(command) || strings.EqualFold(command, "again") {
		return noPlan()
	}
	if !announced && !g.lex.containsWord("programs", program) && !shellSyntax.MatchString(command) {
		return noPlan()
	}
	return planCall("run_command", argsOf("command", command, "cwd", folder))
}
