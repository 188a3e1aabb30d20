package osruntest

import (
	"regexp"
	"strings"

	"github.com/dop251/goja"

	"hob/platform/host/osrun"
)

// Lint returns the problems of a script, nil if there are none.
func Lint(s osrun.Script) []string {
	var out []string
	bad := func(text string) { out = append(out, s.Name+": "+text) }
	whole := s.FullText()
	if strings.ContainsFunc(whole, func(r rune) bool { return r > 0x7e }) {
		bad("text is not ASCII")
	}
	for _, splice := range []string{"%s", "%v", "{{", "${"} {
		if strings.Contains(s.Text, splice) {
			bad("contains " + splice + ", as if text were inserted")
		}
	}
	if len(s.Text) > 40_000 {
		bad("text is too long")
	}
	switch s.Engine {
	case osrun.JavaScript:
		lintJS(s, whole, bad)
	case osrun.AppleScript:
		lintAS(s.Text, bad)
	case osrun.PowerShell:
		lintPS(s.Text, bad)
	default:
		bad("no engine is selected")
	}
	return out
}

var (
	mainJS = regexp.MustCompile(`(?m)^function main\(`)
	runJS  = regexp.MustCompile(`(?m)^function run\(`)
)

func lintJS(s osrun.Script, whole string, bad func(string)) {
	if n := len(mainJS.FindAllString(whole, -1)); n != 1 {
		bad("must define main exactly once")
	}
	if n := len(runJS.FindAllString(whole, -1)); n != 1 {
		bad("defines its own run function")
	}
	for _, word := range []string{"console.error", "eval(", "new Function", "doShellScript", "require(", "`", "?.", "(?<"} {
		if strings.Contains(s.Text, word) {
			bad("it holds " + word)
		}
	}
	if _, err := goja.Compile(s.Name, whole, true); err != nil {
		bad(err.Error())
	}
}

// reserved matches assignments to words that have a meaning in AppleScript or an app and therefore
// do not compile as variable names (sweetrb/apple-notes-mcp#72).
var reserved = regexp.MustCompile(`(?m)\b(?:set|repeat with)\s+(item|items|name|lines|word|words|text|list|result|it|me|of|id|index|count|date|content|subject|sender|message|messages|mailbox|account|folder|file|contents|properties|class|number|string)\s+(?:to|in|from)\b`)

var (
	asString = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	asMain   = regexp.MustCompile(`(?m)^on main\(request\)$`)
	oneLine  = regexp.MustCompile(`^if .* then \S`)
)

// lintAS does not parse AppleScript: it only counts opening and closing keywords.
func lintAS(text string, bad func(string)) {
	if len(asMain.FindAllString(text, -1)) != 1 {
		bad("must contain exactly one \"on main(request)\"")
	}
	if m := reserved.FindString(text); m != "" {
		bad("uses an AppleScript keyword as a variable: " + m)
	}
	if strings.Contains(text, "do shell script") || strings.Contains(text, "run script") || strings.Contains(text, `date "`) {
		bad("runs a shell or a script, or parses a localized date")
	}
	var open []string
	for raw := range strings.Lines(text) {
		line := strings.TrimSpace(asString.ReplaceAllString(raw, `""`))
		if line, _, _ = strings.Cut(line, "--"); strings.TrimSpace(line) == "" {
			continue
		}
		line = strings.TrimSpace(line)
		word, _, _ := strings.Cut(line, " ")
		switch {
		case word == "end":
			what := strings.TrimSpace(strings.TrimPrefix(line, "end"))
			if len(open) == 0 || what != "" && what != open[len(open)-1] {
				bad("this line closes no block: " + line)
				return
			}
			open = open[:len(open)-1]
		case word == "tell" && strings.Contains(line, " to ") && !strings.HasSuffix(line, "\""):
		case word == "if" && oneLine.MatchString(line):
		case word == "on" && strings.HasPrefix(line, "on error"):
		case word == "on":
			name, _, _ := strings.Cut(strings.TrimPrefix(line, "on "), "(")
			open = append(open, strings.TrimSpace(name))
		case word == "with" && strings.HasPrefix(line, "with timeout"):
			open = append(open, "timeout")
		case word == "tell" || word == "if" || word == "repeat" || word == "try" || word == "considering" || word == "ignoring":
			open = append(open, word)
		}
	}
	if len(open) > 0 {
		bad("blocks are not closed: " + strings.Join(open, ", "))
	}
}

var (
	mainPS = regexp.MustCompile(`(?m)^function Main\(\$in\) \{$`)
	// oddPS matches aliases, evaluated strings, and comparisons that filter an array.
	oddPS = regexp.MustCompile(`(?im)Invoke-Expression|\biex\b|\bAdd-Type\b|ScriptBlock\]::Create|\s-(?:eq|ne)\s+\$null|\|\s*(?:%|\?|gci|gwmi|select|where|foreach|sort|cat|ls|echo)\s|@"|@'|\$\(\s*\$in\.`)
	cmdPS = regexp.MustCompile(`(?m)^\s*Answer\b`)
)

func lintPS(text string, bad func(string)) {
	if len(mainPS.FindAllString(text, -1)) != 1 {
		bad("must define Main($in) exactly once")
	}
	if m := oddPS.FindString(text); m != "" && !strings.HasPrefix(strings.TrimSpace(m), "foreach (") {
		bad("contains " + strings.TrimSpace(m))
	}
	if !cmdPS.MatchString(text) {
		bad("never calls Answer")
	}
	bare := psString.ReplaceAllString(psComment.ReplaceAllString(text, ""), "''")
	for _, pair := range []string{"{}", "()", "[]"} {
		if strings.Count(bare, pair[:1]) != strings.Count(bare, pair[1:]) {
			bad("unbalanced " + pair)
		}
	}
}

var (
	psString  = regexp.MustCompile(`'(?:[^'\n]|'')*'|"(?:[^"` + "`" + `\n]|` + "`" + `.|"")*"`)
	psComment = regexp.MustCompile(`(?m)^\s*#.*$`)
)
