package command

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"mvdan.cc/sh/v3/syntax"
)

// FuzzJudge checks the properties of a listed command: no part of it is known only when it runs; it
// stays listed when its tree is printed and analyzed again; it runs only programs of the table; and
// it changes nothing when it runs in a sandbox that would allow changes.
func FuzzJudge(f *testing.F) {
	if runtime.GOOS == "windows" {
		f.Skip("commands on Windows are not parsed")
	}
	for _, s := range seedCommands() {
		f.Add(s)
	}
	b := newBench(f, nil)
	b.putFile(f, "Documents/data.json", `{"a":1}`)
	b.putFile(f, "Documents/sub/a.txt", "a\n")
	r := b.bubblewrapRunner(f)
	f.Fuzz(func(t *testing.T, text string) {
		v := b.judgeText(text)
		if !v.Listed {
			if v.Refused == nil && (len(v.Why) == 0 || v.Exact == "") {
				t.Fatalf("%q needs approval without a reason: %+v", text, v)
			}
			return
		}
		if v.Plan.Shell != "" || v.Egress || v.Destroy || v.Send || v.Writes {
			t.Fatalf("%q is listed: %+v", text, v)
		}
		file, err := parseBash(text)
		if err != nil {
			t.Fatal(err)
		}
		syntax.Walk(file, func(n syntax.Node) bool {
			switch n.(type) {
			case *syntax.CmdSubst, *syntax.ProcSubst, *syntax.ArithmExp, *syntax.FuncDecl, *syntax.Subshell, *syntax.Assign, *syntax.ForClause, *syntax.ExtGlob:
				t.Fatalf("%q is listed with a %T", text, n)
			}
			return true
		})
		b.checkPrinted(t, file, v)
		for _, line := range v.Plan.Lines {
			for _, s := range line.Steps {
				if b.judge.table().entries[filepath.Base(s.Args[0])] == nil {
					t.Fatalf("%q runs %s", text, s.Args[0])
				}
			}
		}
		if r != nil {
			b.checkUnchanged(t, r, text, v)
		}
	})
}

// checkPrinted analyzes the printed tree. Comments and limits may make the printed form too long.
func (b *bench) checkPrinted(t *testing.T, file *syntax.File, v Verdict) {
	var out bytes.Buffer
	if err := syntax.NewPrinter().Print(&out, file); err != nil {
		t.Fatal(err)
	}
	again := b.judgeText(out.String())
	if errors.Is(again.Refused, ErrInvalid) {
		return
	}
	want, _ := json.Marshal(v.Plan.Lines) // strings always encode
	got, _ := json.Marshal(again.Plan.Lines)
	if !again.Listed || !bytes.Equal(want, got) {
		t.Fatalf("printed as %q it is listed %v (%v): %s, want %s", out.String(), again.Listed, again.Why, got, want)
	}
}

// bubblewrapRunner returns a runner that uses bubblewrap, or nil if bubblewrap is not available. Fuzzed
// commands never run without it.
func (b *bench) bubblewrapRunner(tb testing.TB) *Runner {
	exe, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	r, err := NewRunner(RunOptions{Judge: b.judge, Sandbox: Require, Helper: []string{exe, Helper}})
	if err != nil {
		tb.Fatal(err)
	}
	if box := r.Sandbox(context.Background()); box.kind != "bubblewrap" {
		tb.Logf("commands are not run: %s", box.missing)
		return nil
	}
	return r
}

func (b *bench) checkUnchanged(t *testing.T, r *Runner, text string, v Verdict) {
	if strings.Contains(text, "sleep") || strings.Contains(text, "seq") || strings.Contains(text, "free") {
		return
	}
	before := b.snapshotHome(t)
	plan := v.Plan
	plan.Writes, plan.Hidden = true, false // allow changes, because the command itself must make none
	if _, err := r.Run(t.Context(), plan, 3*time.Second, func(int64) {}); err != nil && !errors.Is(err, ErrTimeout) {
		t.Fatalf("%q: Run = %v", text, err)
	}
	if after := b.snapshotHome(t); before != after {
		t.Fatalf("%q changed the folder:\n%s\n%s", text, before, after)
	}
}

// snapshotHome returns the content of the home: names, modes, times and contents.
func (b *bench) snapshotHome(t *testing.T) string {
	var out []string
	err := filepath.WalkDir(b.home, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		line := fmt.Sprintf("%s %s %d", path, info.Mode(), info.ModTime().UnixNano())
		if info.Mode().IsRegular() {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" %x", sha256.Sum256(text))
		}
		out = append(out, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

func seedCommands() []string {
	return []string{
		"ls -la *.txt | sort -r 2>/dev/null && echo done || true; pwd", "cat notes.txt 'a b' \"$HOME/x\" ~/Documents/notes.txt", "cd sub && cat a.txt", "! grep -rn one . >/dev/null 2>&1",
		"find . -name '*.txt' -newer notes.txt -print0", "find . -exec rm {} +", "find . -delete", "find . -fprint x", "awk -F: '$3 > 5 || NR == 1 {print $1}' notes.txt", "awk '{print > \"x\"}' notes.txt",
		"awk 'BEGIN{system(\"id\")}'", "sed -n '/one/,$p;s/a/b/gp' notes.txt", "sed 's/a/b/w x' notes.txt", "sed -i s/a/b/ notes.txt", "sed -e 'y/abc/def/' -e 1d notes.txt", "jq -r '.a | tostring' data.json",
		"sort -o x notes.txt", "sort -k2,2n -t, notes.txt", "uniq notes.txt out", "tar tf a.tar", "tar -tf a --to-command=x", "env X=1 ls", "xargs rm", "git status -s", "git -C sub log --output=x", "date +%F", "date -s x",
		"echo {a,b}{c,d} $'\\x41' \\* '*'", "cat < notes.txt | tr a-z A-Z", "for i in a; do ls; done", "ls $(id)", "ls `id`", "x=1 ls", "ls &", "ls > x", "cat <<E\nx\nE", "ps aux | grep x", "head -n 5 -c 3 notes.txt", "tee x",
		"printf '%s\\n' a >&2", "test -f notes.txt -a -d sub", "[ 1 -lt 2 ]", "diff notes.txt sub/a.txt", "base64 -d notes.txt", "od -c notes.txt", "column -t notes.txt", "ls -- -x", "./ls", "/bin/ls", "rg -n one", "tree -L 1",
		"unzip -l a.zip", "du -sh .", "stat -c %s notes.txt", "cat # comment", "ls\\\n -la", "ls;;", "((1))", "[[ a ]]", "echo a|cat|wc -c", "xxd -l 4 notes.txt", "shuf -n 1 notes.txt", "gzip -l a", "file notes.txt", "cmp notes.txt sub/a.txt",
	}
}
