package osruntest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hob/platform/host/osrun"
)

// Check runs the linter on scripts and parses the PowerShell scripts.
func Check(t *testing.T, scripts ...osrun.Script) {
	t.Helper()
	var ps []osrun.Script
	for _, s := range scripts {
		for _, bad := range Lint(s) {
			t.Error(bad)
		}
		if s.Engine == osrun.PowerShell {
			ps = append(ps, s)
		}
	}
	if len(ps) > 0 {
		t.Run("PowerShell", func(t *testing.T) {
			for _, bad := range ParsePowerShell(t, ps...) {
				t.Error(bad)
			}
		})
	}
}

// grammar is the name of the environment variable with the parser's folder, in which "npm install
// web-tree-sitter@0.27.1 tree-sitter-powershell@0.26.4" was run.
const grammar = "HOB_PS_GRAMMAR"

// WinRT types, which the grammar does not support.
var winRT = regexp.MustCompile(`\[([\w.]+)\s*,[^\]]*ContentType\s*=\s*WindowsRuntime\s*\]`)

// ParsePowerShell returns the errors that a PowerShell parser finds. It skips the test
// if the parser is not installed.
func ParsePowerShell(t *testing.T, scripts ...osrun.Script) []string {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	at := os.Getenv(grammar)
	if at == "" {
		t.Skip("the PowerShell parser is not installed: " + grammar + " names its folder")
	}
	dir := t.TempDir()
	args := []string{filepath.Join(dir, "parse.cjs")}
	if err := os.WriteFile(args[0], []byte(parseJS), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, s := range scripts {
		file := filepath.Join(dir, strings.ReplaceAll(s.Name, "/", "-"))
		if err := os.WriteFile(file, []byte(winRT.ReplaceAllString(s.FullText(), "[$1]")), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, file)
	}
	cmd := exec.CommandContext(t.Context(), node, args...)
	cmd.Env = append(os.Environ(), "NODE_PATH="+filepath.Join(at, "node_modules"))
	out, err := cmd.CombinedOutput()
	said, whole := strings.CutSuffix(string(out), "--end--\n")
	if !whole {
		t.Fatalf("run the parser: %v: %s", err, out)
	}
	var bad []string
	for line := range strings.Lines(said) {
		bad = append(bad, strings.TrimSpace(line))
	}
	return bad
}

// parseJS prints one line per syntax error. web-tree-sitter has the MIT license.
const parseJS = `
const { readFileSync, writeSync } = require('fs'), { basename } = require('path'), { Parser, Language } = require('web-tree-sitter');
(async () => {
  await Parser.init();
  const parser = new Parser();
  parser.setLanguage(await Language.load(require.resolve('tree-sitter-powershell/tree-sitter-powershell.wasm')));
  for (const file of process.argv.slice(2)) {
    const walk = n => {
      if (n.isError || n.isMissing) writeSync(1, basename(file) + ':' + (n.startPosition.row + 1) + ': ' + (n.isMissing ? 'missing ' + n.type : 'unexpected ' + JSON.stringify(n.text.slice(0, 60))) + '\n');
      else for (const c of n.children) walk(c);
    };
    walk(parser.parse(readFileSync(file, 'utf8')).rootNode);
  }
  writeSync(1, '--end--\n');
  process.kill(process.pid, 'SIGKILL'); // exit would wait minutes for the engine's optimizing compiler
})();
`
