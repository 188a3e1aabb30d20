package command

import (
	"bufio"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestListedFormsTouchNothingElse is a differential test of the table: it generates commands from
// the table's forms with hostile operands and runs them. A listed command must write nothing,
// contact no machine and open nothing outside the allowed folder and the system. Forms that need a
// sandbox first run without one. The commands among them that read other files run again in each
// sandbox, where they must print nothing from these files. HOB_TEST_LONG=1 runs 5,000 commands,
// which takes minutes.
func TestListedFormsTouchNothingElse(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed:", err)
	}
	want, batch := 150, 150
	if os.Getenv("HOB_TEST_LONG") != "" {
		want, batch = 5000, 500
	}
	b := newHostileHome(t)
	before := b.snapshotHome(t)
	g := &generator{rand: rand.New(rand.NewPCG(16, 4)), table: b.judge.table()}
	seen, list, forms := map[string]bool{}, []tracedCommand{}, map[string]int{}
	tried := 0
	for ; len(list) < want && tried < 400*want; tried++ {
		text := g.pickCommand()
		if text == "" || seen[text] {
			continue
		}
		seen[text] = true
		if v := b.judgeText(text); v.Listed {
			list = append(list, tracedCommand{Text: text, Plan: v.Plan})
			forms[strings.Fields(text)[0]]++
		}
	}
	if len(list) < want {
		t.Fatalf("%d of %d generated commands are listed, want %d", len(list), tried, want)
	}
	needs, outside := map[Need]int{}, []tracedCommand{}
	for chunk := range slices.Chunk(list, batch) {
		b.traceCommands(t, strace, chunk)
		for _, c := range chunk {
			needs[c.Plan.Needs]++
			wrote, read := b.listViolations(c.lines)
			if len(wrote) > 0 {
				t.Errorf("%q changes files:\n%s", c.Text, strings.Join(wrote, "\n"))
			}
			if len(read) > 0 && c.Plan.Needs == NeedNothing {
				t.Errorf("%q opens without a sandbox:\n%s", c.Text, strings.Join(read, "\n"))
			} else if len(read) > 0 {
				outside = append(outside, c)
			}
		}
	}
	if after := b.snapshotHome(t); before != after {
		t.Errorf("the folder changed: %s", linesAdded(before, after))
	}
	b.runConfined(t, outside)
	t.Logf("%d listed commands of %d programs (%d generated): %d need nothing, %d a sandbox, %d one that hides processes; %d of those open paths outside when nothing confines them",
		len(list), len(forms), tried, needs[NeedNothing], needs[NeedSandbox], needs[NeedIsolation], len(outside))
}

// newHostileHome returns a home whose allowed folder contains an attacker's files.
func newHostileHome(t *testing.T) *bench {
	t.Helper()
	b := newBench(t, nil)
	for name, text := range map[string]string{
		"notes.txt": "one\ntwo\nthree\n", "data.json": `{"a":1,"b":[1,2]}`, "victim.txt": "the only copy\n", "thesis.txt": "the only copy\n", "5": "0000: 41 42\n", "zz": "z\n", "x": "x\n", "one": "../other/x.txt\n",
		"with space.txt": "a b\n", "-rf": "dash\n", "-o": "dash\n", "--output=zz": "dash\n", "-exec": "dash\n", "@args": "/etc/passwd\n", "x=1": "assigned\n", "[a].txt": "brackets\n", "$(id).txt": "shell\n", "a;b": "list\n",
		"sub/a.txt": "a\n", "sub/deep/b.txt": "b\n", "dirA/key": "a\n", "dirA/n": "n\n", "dirB/n": "m\n", "args": "/etc/passwd\n", "00Tree.html": "tree\n",
	} {
		b.putFile(t, "Documents/"+name, text)
	}
	b.linkFile(t, "notes.txt", "Documents/inward")
	b.linkFile(t, "../other/x.txt", "Documents/outward")
	b.linkFile(t, "../../other/x.txt", "Documents/dirB/key")
	b.linkFile(t, "../../other", "Documents/sub/out")
	b.linkFile(t, "../other", "Documents/outdir")
	for _, args := range [][]string{{"tar", "czf", "a.tgz", "notes.txt", "sub"}, {"tar", "cf", "a.tar", "notes.txt"}, {"gzip", "-k", "zz"}, {"git", "init", "-q"}, {"git", "add", "notes.txt", "sub"}, {"git", "-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-qm", "first"}} {
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Dir, cmd.Env = b.docs, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.home, "GIT_CONFIG_NOSYSTEM=1"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Logf("%s: %v: %s", args, err, out)
		}
	}
	return b
}

// traceCommands runs commands under strace and assigns the lines of output to the commands.
func (b *bench) traceCommands(t *testing.T, strace string, list []tracedCommand) {
	t.Helper()
	dir := t.TempDir()
	plans, log := filepath.Join(dir, "plans"), filepath.Join(dir, "log")
	raw, err := json.Marshal(list)
	if err == nil {
		err = os.WriteFile(plans, raw, 0o600)
	}
	exe, err2 := os.Executable()
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	cmd := exec.CommandContext(t.Context(), strace, "-f", "-qq", "-y", "-s", "300", "--seccomp-bpf", "-o", log, "-e", "trace="+strings.Join([]string{
		"open,openat,openat2,creat,rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,rmdir,link,linkat,symlink,symlinkat,chmod,fchmod,fchmodat,chown,fchown,lchown,fchownat",
		"truncate,ftruncate,mknod,mknodat,setxattr,lsetxattr,fsetxattr,removexattr,lremovexattr,fremovexattr,utime,utimes,utimensat,futimesat,connect,bind,execve,ptrace,mount,umount2",
	}, ","), exe)
	cmd.Dir = b.docs
	cmd.Env = append(b.judge.commandEnviron(filepath.Join(b.home, "tmp")), traceEnv+"="+plans)
	if out, err := cmd.CombinedOutput(); err != nil {
		if strings.Contains(string(out), "ptrace") {
			t.Skip("strace cannot trace here: ", string(out))
		}
		t.Fatalf("%v: %s", err, out)
	}
	f, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	current, ended := -1, false
	mark := regexp.MustCompile(`"/hob-mark/(\w+)"`)
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		if m := mark.FindStringSubmatch(s.Text()); m != nil {
			current++
			ended = m[1] == "end"
		} else if current >= 0 && !ended {
			list[current].lines = append(list[current].lines, s.Text())
		}
	}
	if !ended {
		t.Fatalf("the trace ends at %d of %d: %q", current, len(list), list[max(current, 0)].Text)
	}
}

var (
	callName = regexp.MustCompile(`^\d+ +(?:<\.\.\. )?(\w+)[( ]`)
	result   = regexp.MustCompile(`\) += (\d+)(?:<(.*?)>)?(?:\(deleted\))?$`)
	quoted1  = regexp.MustCompile(`"((?:[^"\\]|\\.)*)"`)
)

// listViolations returns the calls that changed something, and the calls that read outside the allowed
// folders.
func (b *bench) listViolations(lines []string) (wrote, read []string) {
	for _, line := range joinUnfinished(lines) {
		m := callName.FindStringSubmatch(line)
		r := result.FindStringSubmatch(line)
		if m == nil || r == nil { // a signal, an exit, or a call that failed
			continue
		}
		switch m[1] {
		case "open", "openat", "openat2":
			writes := regexp.MustCompile(`O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND`).MatchString(line)
			switch path := r[2]; {
			case writes && !slices.Contains([]string{"/dev/null", "/dev/tty", "/dev/ptmx"}, path) && !strings.HasPrefix(path, b.home+"/tmp/"):
				wrote = append(wrote, line)
			case !b.mayOpen(path, line):
				read = append(read, line)
			}
		case "execve":
			if p := quoted1.FindStringSubmatch(line); p == nil || !strings.HasPrefix(p[1], "/usr/") && !strings.HasPrefix(p[1], "/bin/") {
				wrote = append(wrote, line)
			}
		case "connect", "bind":
			if !strings.Contains(line, "AF_UNIX") && !strings.Contains(line, "AF_NETLINK") { // these sockets reach the kernel or a service of this machine
				wrote = append(wrote, line)
			}
		default:
			if !strings.Contains(line, b.home+"/tmp/") {
				wrote = append(wrote, line)
			}
		}
	}
	return wrote, read
}

// joinUnfinished joins the two halves of calls that another thread interrupted.
func joinUnfinished(lines []string) []string {
	var out []string
	open := map[string]string{}
	for _, line := range lines {
		pid, rest, _ := strings.Cut(line, " ")
		if begin, ok := strings.CutSuffix(line, " <unfinished ...>"); ok {
			open[pid] = begin
			continue
		}
		if _, end, ok := strings.Cut(rest, " resumed>"); ok && strings.Contains(rest, "<... ") {
			line = open[pid] + end
		}
		out = append(out, line)
	}
	return out
}

// mayOpen reports whether a listed command may have opened a file for reading.
func (b *bench) mayOpen(path, line string) bool {
	if strings.HasSuffix(path, "/environ") || strings.HasSuffix(path, "/mem") {
		return false
	}
	if isBelow(b.docs, path) || isBelow(filepath.Join(b.home, "tmp"), path) {
		return true
	}
	if isBelow(path, b.docs) && strings.Contains(line, "O_PATH") {
		return true // Hob resolves the folder step by step
	}
	for _, dir := range []string{"/usr", "/bin", "/lib", "/lib64", "/etc", "/proc", "/sys", "/dev/null", "/dev/urandom", "/dev/random", "/dev/tty", "/run/utmp", "/run/udev", "/run/systemd", "/var/run/utmp", "/var/lib/dpkg", "/var/cache/ldconfig"} {
		if isBelow(dir, path) {
			return true
		}
	}
	return strings.HasPrefix(path, "pipe:") || strings.HasPrefix(path, "/memfd:") || slices.Contains([]string{"/", "/opt", "/var", "/run"}, path) && (strings.Contains(line, "O_DIRECTORY") || strings.Contains(line, "O_PATH")) // whereis and lsblk list some of the system
}

// runConfined runs commands in each sandbox of this machine.
func (b *bench) runConfined(t *testing.T, list []tracedCommand) {
	t.Helper()
	if len(list) == 0 {
		return
	}
	for kind, r := range listSandboxes(t, b) {
		for _, c := range list {
			out, err := r.Run(t.Context(), c.Plan, time.Minute, func(int64) {})
			if err != nil {
				continue // Landlock does not hide processes
			}
			if strings.Contains(out.Output, "canary") {
				t.Errorf("in %s %q prints data from outside", kind, c.Text)
			}
		}
	}
}
