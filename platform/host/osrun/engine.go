package osrun

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"unicode/utf16"

	"hob/platform/text/lazyregexp"
)

// scriptCommand returns the command that runs a script, and its input.
func (s *Scripts) scriptCommand(script Script, in []byte) (*exec.Cmd, []byte, error) {
	var cmd *exec.Cmd
	switch script.Engine {
	case JavaScript:
		cmd = exec.Command(s.opt.OSAScript, "-l", "JavaScript", "-e", script.FullText()) //nolint:noctx // Output ends the whole process tree
	case AppleScript:
		cmd = exec.Command(s.opt.OSAScript, "-e", script.FullText()) //nolint:noctx // Output ends the whole process tree
	case PowerShell:
		var args []string
		args, in = powerShell(script.FullText(), in)
		cmd = exec.Command(s.opt.PowerShell, args...) //nolint:noctx // Output ends the whole process tree
	default:
		return nil, nil, fmt.Errorf("script %q: no engine selected", script.Name)
	}
	cmd.Env = s.engineEnviron(script.Engine)
	return cmd, in, nil
}

// engineEnvNames lists the environment variables that an engine gets. They contain none of Hob's
// keys or tokens. PSModulePath is omitted, because the value of a newer PowerShell breaks version
// 5.1.
var engineEnvNames = map[Engine][]string{
	JavaScript: {"HOME", "USER", "LOGNAME", "TMPDIR"},
	PowerShell: {
		"SystemRoot", "SystemDrive", "windir", "ComSpec", "PATH", "PATHEXT", "TEMP", "TMP", "USERNAME", "USERDOMAIN", "USERPROFILE", "HOMEDRIVE", "HOMEPATH",
		"APPDATA", "LOCALAPPDATA", "ProgramData", "ALLUSERSPROFILE", "ProgramFiles", "ProgramFiles(x86)", "ProgramW6432", "CommonProgramFiles",
		"CommonProgramFiles(x86)", "COMPUTERNAME", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE", "SESSIONNAME", "PUBLIC",
	},
}

func (s *Scripts) engineEnviron(e Engine) []string {
	var env []string
	if e != PowerShell {
		e = JavaScript
		env = []string{"LANG=en_US.UTF-8", "LC_ALL=en_US.UTF-8", "PATH=/usr/bin:/bin:/usr/sbin:/sbin"}
	}
	for _, name := range engineEnvNames[e] {
		if v := s.opt.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// maxEncoded limits the command line to less than the 32,767 characters that CreateProcess accepts
// (learn.microsoft.com, "CreateProcessW").
const maxEncoded = 32_000

// bootstrap reads a script that is too long for a command line from standard input, and runs it.
const bootstrap = `$hob = [Console]::In.ReadToEnd() | ConvertFrom-Json
[Console]::SetIn((New-Object System.IO.StringReader $hob.in))
& ([scriptblock]::Create($hob.script))`

// powerShell returns the arguments for a script, encoded as base64 of UTF-16LE. This form needs no
// quoting, and the execution policy for script files does not apply to it.
func powerShell(script string, in []byte) ([]string, []byte) {
	encoded := encodePowerShell(script)
	if len(encoded) > maxEncoded {
		long, err := ASCII(struct {
			Script string `json:"script"`
			In     string `json:"in"`
		}{script, string(in)})
		if err == nil { // strings can always be encoded
			encoded, in = encodePowerShell(bootstrap), long
		}
	}
	return []string{"-NoLogo", "-NoProfile", "-NonInteractive", "-InputFormat", "None", "-ExecutionPolicy", "Bypass", "-EncodedCommand", encoded}, in
}

func encodePowerShell(script string) string {
	units := utf16.Encode([]rune(script))
	b := make([]byte, 2*len(units))
	for i, u := range units {
		binary.LittleEndian.PutUint16(b[2*i:], u)
	}
	return base64.StdEncoding.EncodeToString(b)
}

// stripComments removes comment lines, indentation and empty lines from a PowerShell script,
// because the length of a script is limited. Hob's scripts contain no multi-line strings.
func stripComments(script string) string {
	var b strings.Builder
	for line := range strings.Lines(script) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			b.WriteString(line)
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// scriptAnswer is the JSON output of a script.
type scriptAnswer struct {
	OK      bool            `json:"ok"`
	Data    json.RawMessage `json:"data"`
	Kind    Kind            `json:"kind"`
	Number  int             `json:"number"`
	Message string          `json:"message"`
	Began   bool            `json:"began"`
}

// mark precedes the answer of a PowerShell script, because a profile or a module may have printed
// something earlier.
const mark = "\n--hob--\n"

func parseOutput(e Engine, out []byte) (scriptAnswer, error) {
	var a scriptAnswer
	if e == PowerShell {
		out = bytes.ReplaceAll(out, []byte("\r\n"), []byte("\n"))
		i := bytes.LastIndex(out, []byte(mark))
		if i < 0 {
			return a, fmt.Errorf("no answer in output %.200q", out)
		}
		out = out[i+len(mark):]
	}
	if out = bytes.TrimSpace(out); len(out) == 0 {
		return a, errors.New("answer is empty")
	}
	if err := json.Unmarshal(out, &a); err != nil {
		return a, fmt.Errorf("%w in %.200q", err, out)
	}
	return a, nil
}

// trailingNumber matches the error number at the end of osascript's message in any language: "0:59:
// execution error: Mail got an error: ... (-1743)".
var trailingNumber = lazyregexp.New(`\((-?\d{1,9})\)\s*$`)

func lastNumber(said string) int {
	m := trailingNumber.FindStringSubmatch(strings.TrimSpace(said))
	if m == nil {
		return 0
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		return 0
	}
	return n
}

var (
	clixmlError = lazyregexp.New(`(?s)<S S="Error">(.*?)</S>`)
	clixmlCode  = lazyregexp.New(`_x([0-9A-Fa-f]{4})_`)
)

// cleanStderr returns the readable text in an engine's stderr. PowerShell writes CLIXML to stderr
// when it runs an encoded command.
func cleanStderr(e Engine, said string) string {
	if e != PowerShell || !strings.HasPrefix(strings.TrimSpace(said), "#< CLIXML") {
		return strings.TrimSpace(said)
	}
	var b strings.Builder
	for _, m := range clixmlError.FindAllStringSubmatch(said, -1) {
		b.WriteString(clixmlCode.ReplaceAllStringFunc(m[1], func(code string) string {
			n, err := strconv.ParseUint(code[2:6], 16, 16)
			if err != nil {
				return code
			}
			return string(rune(n))
		}))
	}
	s := strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&apos;", "'", "&amp;", "&").Replace(b.String())
	return strings.TrimSpace(strings.ReplaceAll(s, "\r\n", "\n"))
}

// ASCII returns JSON with every non-ASCII character escaped, so that the code page and
// locale of the receiver do not matter.
func ASCII(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if !bytes.ContainsFunc(b, func(r rune) bool { return r >= 0x7f }) {
		return b, nil
	}
	var out bytes.Buffer
	for _, r := range string(b) {
		if r < 0x7f {
			out.WriteByte(byte(r))
			continue
		}
		for _, u := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&out, `\u%04x`, u)
		}
	}
	return out.Bytes(), nil
}
