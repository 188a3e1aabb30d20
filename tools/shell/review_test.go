package shell

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hob/platform/host/command"
	"hob/tools"
)

// Without a sandbox, a command that writes a file, leaves the allowed folders or shows data
// of other processes needs approval.
func TestReview4_AsksForFormsThatAreNotListedWithoutASandbox(t *testing.T) {
	b := newBench(t, command.Off)
	b.putFile("Documents/victim.txt", "the only copy\n")
	b.putFile("Documents/thesis.txt", "the only copy\n")
	b.putFile("Documents/5", "0000: 41\n")
	b.putFile("Documents/dirA/key", "a\n")
	b.putFile("Documents/dirB/x", "b\n")
	b.putFile("elsewhere/x", "canary\n")
	if err := os.Symlink(filepath.Join(b.home, ".ssh/id_ed25519"), filepath.Join(b.docs, "dirB/key")); err != nil {
		t.Skip(err)
	}
	for _, text := range []string{
		"xxd -bc 5 victim.txt", "xxd -ps 5 victim.txt", "xxd -ps -c 5 victim.txt", "xxd -c5 5 victim.txt", "xxd -r 5", "xxd -ac 5 victim.txt",
		"tree -Io zz thesis.txt", "tree -IR zz -L 1 .", "tree -L 1 .", "tree -aIo x thesis.txt", "tree -Lo 1 thesis.txt",
		"diff dirA dirB", "diff dirA/key dirB", "diff -N dirA dirB", "cmp dirA/key dirB/key",
		"jq -Rr . -- --arg " + b.home + "/elsewhere/x x", "jq -n input -- --argjson ../elsewhere/x x",
		"ps -axeww", "ps axeww", "ps -E", "ps e", "ps -o pid,env", "ps -o pid,args", "ps aux", "ps -ef", "w", "pgrep -af .",
		"grep -r one .", "find .", "du -sh .", "ls -R", "ls -L dirB", "ls -H dirB", "git status", "rg one",
	} {
		if j := b.judgeCall(runIn{Command: text}); j.Listed {
			t.Errorf("%q runs without approval and without a sandbox", text)
		}
	}
}

// payload is an example of code that a command reads: the command, the file with
// the code, and its harmless and hostile contents.
type payload struct{ command, file, before, after string }

func testPayloads() []payload {
	const good, evil = "echo harmless\n", "echo evil > made\n"
	return []payload{
		{"sh < job.sh", "job.sh", good, evil},
		{"cat job.sh | sh", "job.sh", good, evil},
		{`bash -c "sh tp/job.sh"`, "tp/job.sh", good, evil},
		{`bash -ec 'cd tp && . ./job.sh'`, "tp/job.sh", good, evil},
		{`sh -c "bash -c 'sh tp/job.sh'"`, "tp/job.sh", good, evil},
		{"make -C tp", "tp/Makefile", "all:\n\techo harmless\n", "all:\n\techo evil > ../made\n"},
		{"make -Ctp", "tp/GNUmakefile", "", "all:\n\techo evil > ../made\n"},
		{"make --directory=tp", "tp/makefile", "", "all:\n\techo evil > ../made\n"},
		{"make -f tp/rules.mk", "tp/rules.mk", "all:\n\techo harmless\n", "all:\n\techo evil > made\n"},
		{"make", "GNUmakefile", "", "all:\n\techo evil > made\n"},
		{`for f in tp/*.sh; do sh "$f"; done`, "tp/job.sh", good, evil},
		{`for f in tp/*.sh; do sh "$f"; done`, "tp/second.sh", "", evil},
		{`s=tp/job.sh; sh $s`, "tp/job.sh", good, evil},
		{"env -C tp sh job.sh", "tp/job.sh", good, "echo evil > ../made\n"},
		{"env --chdir=tp sh job.sh", "tp/job.sh", good, "echo evil > ../made\n"},
		{"find tp -name '*.sh' -exec sh {} ';'", "tp/job.sh", good, evil},
		{"find tp -name '*.sh' | xargs sh", "tp/job.sh", good, evil},
		{"ls tp/*.sh | xargs -n1 sh", "tp/job.sh", good, evil},
		{"echo tp/job.sh | xargs sh", "tp/job.sh", good, evil},
		{"xargs sh < list.txt", "tp/job.sh", good, evil},
		{"npm --prefix tp run job", "tp/package.json", `{"scripts":{"job":"echo harmless"}}`, `{"scripts":{"job":"echo evil > made"}}`},
		{"sh big.sh", "big.sh", strings.Repeat("# a comment of some length\n", 60_000) + good, strings.Repeat("# a comment of some length\n", 60_000) + evil},
		{"python3 -m job", "job.py", "print('harmless')\n", "open('made','w')\n"},
		{"./run", "run", "#!/bin/sh\necho harmless\n", "#!/bin/sh\necho evil > made\n"},
		{"(cd tp; sh job.sh)", "tp/job.sh", good, "echo evil > ../made\n"},
		{"timeout 5 nice -n 5 sh tp/job.sh", "tp/job.sh", good, evil},
		{`eval "sh tp/job.sh"`, "tp/job.sh", good, evil},
		{"env -S 'sh tp/job.sh'", "tp/job.sh", good, evil},
		{"BASH_ENV=tp/job.sh bash -c true", "tp/job.sh", good, evil},
	}
}

// Code that a command would read is part of the approval.
func TestReview5_RefusesWhenCodeChangesAfterTheQuestion(t *testing.T) {
	for _, p := range testPayloads() {
		t.Run(p.command+" "+p.file, func(t *testing.T) {
			b := newBench(t, command.Auto)
			b.putFile("Documents/tp/other.sh", "echo harmless\n")
			b.putFile("Documents/list.txt", "tp/job.sh\n")
			if p.before != "" {
				b.putFile("Documents/"+p.file, p.before)
			}
			in := runIn{Command: p.command}
			j := b.judgeCall(in)
			if j.Refused != nil || j.Listed {
				t.Fatalf("refused %v, listed %v", j.Refused, j.Listed)
			}
			if again := b.judgeCall(in); again.Exact != j.Exact {
				t.Fatalf("two judgments of the same call differ:\n%s\n%s", j.Exact, again.Exact)
			}
			b.putFile("Documents/"+p.file, p.after)
			if b.judgeCall(in).Exact == j.Exact {
				t.Error("the approval is the same for other code")
			}
			if _, err := b.runApproved(in, j.Exact); tools.CodeOf(err) != tools.Conflict || b.readFile("Documents/made") != "" {
				t.Errorf("the command ran although its code had changed: %v", err)
			}
			if err := os.Remove(b.docs + "/made"); err == nil || !errors.Is(err, os.ErrNotExist) {
				t.Error("the hostile code ran")
			}
		})
	}
}
