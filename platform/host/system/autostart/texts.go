package autostart

import (
	"encoding/xml"
	"fmt"
	"strings"
)

// Label is the name of Hob's launchd agent.
const Label = "local.hob.assistant"

const (
	unitName = "hob.service"
	runKey   = `Software\Microsoft\Windows\CurrentVersion\Run`
	runName  = "Hob"
)

// unitText returns a unit of systemd --user (systemd.unit(5), systemd.service(5)). Some sessions
// never reach graphical-session.target, so the default target also wants the unit.
func unitText(e Entry) string {
	var env strings.Builder
	for _, v := range entryEnviron(e) {
		fmt.Fprintf(&env, "Environment=%s\n", systemdQuote(v[0]+"="+v[1]))
	}
	return `# Written by: hob service install
[Unit]
Description=Hob, a personal assistant
After=graphical-session.target
StartLimitIntervalSec=300
StartLimitBurst=5

[Service]
Type=exec
ExecStart=` + systemdProgram(e.Program) + ` start --foreground
` + env.String() + `Restart=on-failure
RestartSec=5
TimeoutStopSec=40

[Install]
WantedBy=graphical-session.target default.target
`
}

func entryEnviron(e Entry) (out [][2]string) {
	if e.Home != "" {
		out = append(out, [2]string{"HOB_HOME", e.Home})
	}
	if e.Path != "" {
		out = append(out, [2]string{"PATH", e.Path})
	}
	return out
}

// unsafe lists characters that systemd does not accept in the path of a program. Such a program is
// started through env, unless env would interpret the path as a variable.
const (
	unsafe  = `"'\`
	byEnv   = "/usr/bin/env "
	envSign = "="
)

func systemdProgram(path string) string {
	if !strings.ContainsAny(path, unsafe) {
		return systemdQuote(path)
	}
	return byEnv + strings.ReplaceAll(systemdQuote(path), "$", "$$")
}

// systemdQuote quotes one word of a unit and escapes specifiers. systemd expands variables neither
// in the path of a program nor in Environment=.
func systemdQuote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `%`, `%%`).Replace(s) + `"`
}

// desktopEntry returns an entry of the autostart folder (Desktop Application Autostart and
// Desktop Entry specifications).
func desktopEntry(e Entry) string {
	line := execQuote(e.Program) + " start"
	if e.Home != "" {
		line = "env " + execQuote("HOB_HOME="+e.Home) + " " + line
	}
	return `# Written by: hob service install
[Desktop Entry]
Type=Application
Version=1.0
Name=Hob
Comment=A personal assistant
Exec=` + line + `
Terminal=false
NoDisplay=true
X-GNOME-Autostart-enabled=true
`
}

// execQuote quotes one word of Exec and escapes the result as the value of a key.
func execQuote(s string) string {
	s = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "`", "\\`", `$`, `\$`, `%`, `%%`).Replace(s)
	return `"` + strings.ReplaceAll(s, `\`, `\\`) + `"`
}

// plistText returns a LaunchAgent (launchd.plist(5)).
func plistText(e Entry) string {
	var env strings.Builder
	for _, v := range entryEnviron(e) {
		fmt.Fprintf(&env, "\t\t<key>%s</key>\n\t\t<string>%s</string>\n", v[0], xmlText(v[1]))
	}
	vars := ""
	if env.Len() > 0 {
		vars = "\t<key>EnvironmentVariables</key>\n\t<dict>\n" + env.String() + "\t</dict>\n"
	}
	if e.Log != "" {
		vars += "\t<key>StandardErrorPath</key>\n\t<string>" + xmlText(e.Log) + "</string>\n"
	}
	return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- Written by: hob service install -->
<plist version="1.0">
<dict>
	<key>Label</key>
	<string>` + Label + `</string>
	<key>ProgramArguments</key>
	<array>
		<string>` + xmlText(e.Program) + `</string>
		<string>start</string>
		<string>--foreground</string>
	</array>
	<key>RunAtLoad</key>
	<true/>
	<key>KeepAlive</key>
	<dict>
		<key>SuccessfulExit</key>
		<false/>
	</dict>
	<key>ThrottleInterval</key>
	<integer>10</integer>
	<key>ProcessType</key>
	<string>Interactive</string>
	<key>LimitLoadToSessionType</key>
	<string>Aqua</string>
` + vars + `</dict>
</plist>
`
}

func xmlText(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // writing to a builder never fails
	return b.String()
}

// runValue returns a value for the Run key. Such a value cannot set environment variables.
func runValue(e Entry) (string, error) {
	if e.Home != "" {
		return "", fmt.Errorf("autostart: the Run key cannot set HOB_HOME; set it for your account (setx HOB_HOME \"%s\"), open a new terminal in which you do not set it, and run this command again", e.Home)
	}
	if strings.Contains(e.Program, `"`) {
		return "", fmt.Errorf("autostart: path %s contains a quotation mark", e.Program)
	}
	return `"` + e.Program + `" start`, nil
}

// programOf returns the program in an installed entry, or "" if the entry cannot be parsed.
func programOf(k Kind, text string) string {
	switch k {
	case Systemd:
		_, rest, _ := strings.Cut(text, "\nExecStart=")
		rest, env := strings.CutPrefix(rest, byEnv)
		word, _ := parseQuoted(rest)
		if !strings.HasPrefix(rest, `"`) { // the unit of a package does not quote the path
			word, _, _ = strings.Cut(strings.TrimSpace(strings.SplitN(rest, "\n", 2)[0]), " ")
		}
		if env {
			word = strings.ReplaceAll(word, "$$", "$")
		}
		return strings.ReplaceAll(word, "%%", "%")
	case XDG:
		_, rest, _ := strings.Cut(text, "\nExec=")
		rest = strings.ReplaceAll(rest, `\\`, `\`)
		if env, ok := strings.CutPrefix(rest, "env "); ok {
			_, rest = parseQuoted(env)
			rest = strings.TrimSpace(rest)
		}
		word, _ := parseQuoted(rest)
		return strings.ReplaceAll(word, "%%", "%")
	case Launchd:
		_, rest, _ := strings.Cut(text, "<key>ProgramArguments</key>")
		_, rest, _ = strings.Cut(rest, "<string>")
		in, _, _ := strings.Cut(rest, "</string>")
		var s string
		if xml.Unmarshal([]byte("<s>"+in+"</s>"), &s) == nil {
			return s
		}
	case RunKey:
		word, _ := strings.CutPrefix(text, `"`)
		word, _, _ = strings.Cut(word, `"`)
		return word
	}
	return ""
}

// parseQuoted parses a quoted word and returns it with the remaining text.
func parseQuoted(s string) (word, rest string) {
	if !strings.HasPrefix(s, `"`) {
		return "", s
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		case s[i] == '"':
			return b.String(), s[i+1:]
		default:
			b.WriteByte(s[i])
		}
	}
	return "", s
}
