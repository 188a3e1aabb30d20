//go:build linux

package badinput

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"hob/autonomy/llm/llmtest"
)

// rerunInNamespace reruns a test in a separate mount namespace, where the test may mount a small disk that no
// other process sees. It returns true in that namespace.
func rerunInNamespace(t *testing.T) bool {
	t.Helper()
	if os.Getenv(workshopVar) != "" {
		return true
	}
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", fmt.Sprintf("-update=%v", *update))
	cmd.Env = append(os.Environ(), workshopVar+"="+workshop)
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if os.Getuid() != 0 {
		cmd.Env = append(cmd.Env, mappedVar+"=1")
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	_, ran := errors.AsType[*exec.ExitError](err)
	switch {
	case err != nil && !ran:
		t.Skip("a mount namespace is not available:", err)
	case strings.Contains(string(out), "--- SKIP"):
		t.Skipf("%s", out)
	case err != nil:
		t.Fatalf("%v\n%s", err, out)
	}
	return false
}

// disk is a small file system.
type disk struct {
	t   *testing.T
	dir string
}

func smallDisk(t *testing.T) *disk {
	t.Helper()
	dir, err := os.MkdirTemp(workshop, "disk-")
	failOnError(t, err)
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=16m,mode=0755"); err != nil {
		t.Skip("tmpfs cannot be mounted:", err)
	}
	t.Cleanup(func() { failOnError(t, errors.Join(syscall.Unmount(dir, syscall.MNT_DETACH), os.Remove(dir))) })
	return &disk{t, dir}
}

func (d *disk) newFixture(conf string) *daemonFixture {
	d.t.Helper()
	dir := filepath.Join(d.dir, "house")
	failOnError(d.t, os.Mkdir(dir, 0o755)) //nolint:gosec // the user nobody must be able to enter
	h := houseIn(d.t, dir, conf)
	h.log = filepath.Join(d.t.TempDir(), "daemon.log")
	return h
}

// fillDisk fills the disk completely.
func (d *disk) fillDisk() {
	f, err := os.OpenFile(filepath.Join(d.dir, "fill"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		d.t.Error(err)
		return
	}
	defer f.Close()
	for _, n := range []int{64 << 10, 4 << 10, 1} {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, n))
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		d.t.Error(err)
	}
}

func (d *disk) freeDisk() { failOnError(d.t, os.Remove(filepath.Join(d.dir, "fill"))) }

// On a full disk nothing starts. Once there is space, everything is as before.
func TestDisk_IsFullAtTheStart(t *testing.T) {
	if !rerunInNamespace(t) {
		return
	}
	d := smallDisk(t)
	h := d.newFixture(offline)
	h.runHob("ask", "remember that the code is 9911").checkSuccess("Noted")
	before := h.listFiles()
	d.fillDisk()
	for _, args := range [][]string{{"ask", "hello"}, {"start"}, {"start", "--foreground"}, {"task", "list"}, {"backup"}} {
		h.runHob(args...).checkFailure(1, `no space left on device.*free some space`)
	}
	h.runHob("config", "set", "agent.name", strings.Repeat("Robin", 12)).checkFailure(1, `nothing was changed.*config.toml.*no space left.*free some space`)
	h.runHob("config", "check").checkSuccess("good")
	h.runHob("status").checkFailure(3, "not running")
	if after := h.listFiles(); !slices.Equal(before, after) {
		t.Errorf("files before %v and after %v", before, after)
	}
	h.runHob("doctor").checkExit(1, `fail +disk.*-> delete other files on the disk of`)
	d.freeDisk()
	h.runHob("ask", "what did I ask you to remember?").checkSuccess("9911")
}

// A message that does not fit on the disk is rejected and can be sent again.
func TestDisk_FillsUpBeforeAMessage(t *testing.T) {
	if !rerunInNamespace(t) {
		return
	}
	d := smallDisk(t)
	h := d.newFixture(offline)
	h.startDaemon()
	h.sendMessage("remember that the code is 9911")
	d.fillDisk()
	const message = `{"text":"remember that the cat is called Tom","dedupe_key":"1"}`
	code, body := h.callAPI(http.MethodPost, "/api/v1/sessions/home/messages", message)
	var r refusal
	if json.Unmarshal([]byte(body), &r) != nil || code != http.StatusInsufficientStorage || r.Error.Code != "disk_full" || !strings.HasPrefix(r.Error.Remedy, "free space on the disk of Hob's data") {
		t.Errorf("a message: %d %s", code, body)
	}
	h.runHob("ask", "hello").checkFailure(1, "the disk is full and the change was not saved.*free space on the disk of Hob's data.*hob doctor disk")
	h.runHob("task", "add", "milk").checkFailure(1, "the disk is full.*free space on the disk")
	h.runHob("backup").checkFailure(1, "the disk is full|no space left.*space")
	if left, err := os.ReadDir(filepath.Join(h.home, "backups")); len(left) != 0 {
		t.Errorf("half a backup: %v %v", left, err)
	}
	d.freeDisk()
	for range 2 {
		if code, body := h.callAPI(http.MethodPost, "/api/v1/sessions/home/messages", message); code != http.StatusOK {
			t.Errorf("repeated message: %d %s", code, body)
		}
	}
	code, body = h.callAPI(http.MethodGet, "/api/v1/memory", "")
	if code != 200 || strings.Count(body, "Tom") != 1 || strings.Count(body, "9911") != 1 {
		t.Errorf("the memory: %d %s", code, body)
	}
	if _, tasks := h.callAPI(http.MethodGet, "/api/v1/tasks", ""); strings.TrimSpace(tasks) != "[]" {
		t.Errorf("the tasks: %s", tasks)
	}
	h.stopDaemon()
}

// A turn during which the disk becomes full continues when there is space: each action runs once,
// and unknown outcomes are reported.
func TestDisk_FillsUpDuringATurn(t *testing.T) {
	if !rerunInNamespace(t) {
		return
	}
	d := smallDisk(t)
	var once sync.Once
	var docs string
	model := llmtest.NewServer(t, llmtest.Options{Reply: func(r llmtest.Request) (llmtest.Answer, bool) {
		if len(r.Results) > 0 {
			var all []string
			for _, x := range r.Results {
				all = append(all, x.Text)
			}
			return llmtest.Answer{Text: "came to: " + strings.Join(all, " | ")}, true
		}
		once.Do(d.fillDisk)
		return llmtest.Answer{Calls: []llmtest.Call{
			{Name: "create_task", Args: `{"title":"milk"}`},
			{Name: "write_file", Args: fmt.Sprintf(`{"path":%q,"content":%q}`, filepath.Join(docs, "list.txt"), strings.Repeat("milk\n", 2000))},
		}}, true
	}})
	h := d.newFixture(withModel(model))
	docs = filepath.Join(h.user, "Documents")
	failOnError(t, os.Mkdir(docs, 0o700))
	h.takeOwnership(docs)
	h.startDaemon()
	code, body := h.callAPI(http.MethodPost, "/api/v1/sessions/home/messages", `{"text":"buy milk","async":true}`)
	var r struct{ Event string }
	if json.Unmarshal([]byte(body), &r) != nil || code != http.StatusAccepted {
		t.Fatal(code, body)
	}
	h.waitUntil("the turn meets the full disk", func() bool {
		b, err := os.ReadFile(h.log)
		return err == nil && strings.Contains(string(b), "the disk is full")
	})
	d.freeDisk()
	h.waitUntil("the turn is finished", func() bool {
		_, body := h.callAPI(http.MethodGet, "/api/v1/inbox/"+r.Event, "")
		return strings.Contains(body, `"done"`)
	})
	replies := h.listDeliveries("reply")
	if len(replies) != 1 || !strings.Contains(replies[0].Text, "came to: ") {
		t.Fatalf("the replies: %+v", replies)
	}
	if _, tasks := h.callAPI(http.MethodGet, "/api/v1/tasks", ""); strings.Count(tasks, "milk") != 1 {
		t.Errorf("the tasks: %s", tasks)
	}
	b, err := os.ReadFile(filepath.Join(docs, "list.txt"))
	switch {
	case errors.Is(err, os.ErrNotExist) && strings.Contains(replies[0].Text, "outcome_unknown"):
	case err == nil && len(b) == 10_000:
	default:
		t.Errorf("the file has %d bytes, %v; the answer: %s", len(b), err, replies[0].Text)
	}
	if left, err := os.ReadDir(docs); len(left) > 1 {
		t.Errorf("files left behind: %v %v", left, err)
	}
	h.stopDaemon()
}

// Work that becomes due while the disk is full runs once when there is space, and a text that a
// receiver has accepted is not sent again.
func TestDisk_FillsUpBetweenTurns(t *testing.T) {
	if !rerunInNamespace(t) {
		return
	}
	d := smallDisk(t)
	k := newHook(t)
	k.first = d.fillDisk
	h := d.newFixture(withHook(k.url))
	h.startDaemon()
	h.triggerNotice()
	h.waitUntil("the accepted notice", func() bool { _, took := k.readState(); return len(took) == 1 })
	h.waitUntil("the full disk is met", func() bool {
		b, err := os.ReadFile(h.log)
		return err == nil && strings.Contains(string(b), "the disk is full")
	})
	d.freeDisk()
	h.waitUntil("the state sent", func() bool { return h.awaitNotice().State == "sent" })
	if asked, took := k.readState(); asked != 1 || len(took) != 1 {
		t.Errorf("%d requests, accepted %q", asked, took)
	}

	h.sendMessage("remind me in 2 seconds to stand up")
	d.fillDisk()
	h.waitUntil("the reminder meets the full disk", func() bool {
		b, err := os.ReadFile(h.log)
		return err == nil && strings.Count(string(b), "the disk is full") > 3
	})
	d.freeDisk()
	h.waitUntil("the reminder comes", func() bool { _, took := k.readState(); return len(took) == 2 })
	h.stopDaemon()
	if asked, took := k.readState(); asked != 2 || len(took) != 2 {
		t.Errorf("%d requests, accepted %q", asked, took)
	}
}
