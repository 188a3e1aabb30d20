//go:build unix

package fleet

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"hob/platform/failpoint/daemontest"
	"hob/platform/store/storetest"
)

// An instance on which the secret of a channel is missing leaves the sending to one that has it.
func TestFleet_SendsWhereTheSecretIs(t *testing.T) {
	f := newFleet(t, fleetOptions{size: 2, seed: 1, noSecret: []string{"b"}})
	for n := 0; ; n++ {
		event := f.sendMessage(t.Context(), f.instances[1], "webhook:s", fmt.Sprintf("say s0-%d", n))
		f.awaitProgress(t.Context(), "the reply", f.receiver.Count, func() bool { return !f.receiver.Replied(event).IsZero() })
		if slices.Contains(f.listClaimers(t.Context(), event), "b") {
			break
		}
	}
}

// A machine that slept longer than the lease: its monotonic clock stood still, so no timer has fired. The
// instance ends its membership by itself, joins again and answers. With a clock that is an hour wrong, it accepts
// nothing and says why, until the clock is correct.
func TestFleet_FollowsItsClock(t *testing.T) {
	if !canShiftClock {
		t.Skip("the clock of a process cannot be shifted on this system")
	}
	f := newFleet(t, fleetOptions{size: 1})
	x := f.instances[0]
	epoch := f.queryRows(t.Context(), `SELECT epoch FROM instances WHERE name = 'a'`)[0][0].(int64)
	failOnError(t, shiftClock(x.PID(), 10*leaseTime))
	f.awaitProgress(t.Context(), "another membership", func() int { return 0 }, func() bool {
		return f.queryRows(t.Context(), `SELECT epoch FROM instances WHERE name = 'a'`)[0][0].(int64) > epoch
	})
	if !x.AwaitReady() {
		t.Fatal("the daemon ended")
	}
	f.expectReply(x, "say s0-1")
	failOnError(t, shiftClock(x.PID(), -time.Hour))
	f.awaitProgress(t.Context(), "an outage", func() int { return 0 }, func() bool { return x.Status() == http.StatusServiceUnavailable })
	_, err := x.Send(t.Context(), "webhook:s", "say s0-2")
	if s, ok := errors.AsType[*daemontest.StatusError](err); !ok || s.Code != http.StatusServiceUnavailable ||
		!strings.Contains(s.Text, "the clock of this machine is 1h0m0s away") || !strings.Contains(s.Text, "enable NTP") {
		t.Errorf("a message to an instance with a wrong clock: %v, want 503 with the cause and the remedy", err)
	}
	failOnError(t, shiftClock(x.PID(), 0))
	if !x.AwaitReady() {
		t.Fatal("the daemon ended")
	}
	f.expectReply(x, "say s0-2")
}

// expectReply sends a message and waits for its reply.
func (f *fleetFixture) expectReply(x *instance, text string) {
	f.t.Helper()
	event := f.sendMessage(f.t.Context(), x, "webhook:s", text)
	f.awaitProgress(f.t.Context(), "the reply", f.receiver.Count, func() bool { return !f.receiver.Replied(event).IsZero() })
}

// A command that works without a daemon does not appear as an instance, and a database that is away is
// reported with what to do.
func TestFleet_StatusWithoutDaemon(t *testing.T) {
	f := newFleet(t, fleetOptions{size: 2, seed: 1})
	f.instances[1].Stop()
	var out string
	var err error
	for range 2 { // the first command has ended when the second one lists the instances
		out, err = f.instances[1].Run("fleet", "status")
		failOnError(t, err)
	}
	if lines := strings.Split(strings.TrimSpace(out), "\n"); len(lines) != 3 || !strings.Contains(lines[1], " live ") || !strings.Contains(lines[2], " ended ") {
		t.Errorf("fleet status without a daemon lists %q, want the live instance a and the ended instance b", out)
	}
	failOnError(t, f.server.Stop("QUIT"))
	f.instances[1].proxy.refuseConns()
	out, err = f.instances[1].Run("task", "list")
	if err == nil || !strings.Contains(out, "cannot be reached") || !strings.Contains(out, "start the database server") {
		t.Errorf("task list while the database is away: %v, %q; want the cause and the remedy", err, out)
	}
}

// The files that docs/fleet.md shows are valid: the program works with the configuration, systemd
// accepts the unit, and the compose file defines what it names.
func TestFleet_FilesOfThePageAreValid(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/fleet.md")
	failOnError(t, err)
	files := map[string]string{}
	for _, m := range regexp.MustCompile("(?s)```([a-z]+)\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		files[m[1]] = m[2]
	}
	bin, err := program()
	failOnError(t, err)
	t.Run("config.toml", func(t *testing.T) {
		server := storetest.NewServer(t)
		failOnError(t, server.Exec(t.Context(), "postgres", "CREATE DATABASE "+database))
		x := daemontest.New(t, bin, t.TempDir())
		x.Env = []string{"HOB_STORE=" + server.URL(database)}
		x.Configure(files["toml"] + "[web]\nlisten = \"" + x.Addr + "\"\n")
		if !x.Start("") {
			t.Fatal("the daemon did not start")
		}
		out, err := x.Run("fleet", "status")
		if err != nil || !strings.Contains(out, "\nstudy ") {
			t.Errorf("fleet status: %v\n%s\nwant the instance study", err, out)
		}
	})
	t.Run("hob.service", func(t *testing.T) {
		if _, err := exec.LookPath("systemd-analyze"); err != nil {
			t.Skip(err)
		}
		unit := filepath.Join(t.TempDir(), "hob.service")
		failOnError(t, os.WriteFile(unit, []byte(strings.ReplaceAll(files["ini"], "/usr/local/bin/hob", bin)), 0o600))
		cmd := exec.Command("systemd-analyze", "verify", "--user", unit)
		cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir())
		out, err := cmd.CombinedOutput()
		if err != nil || strings.Contains(string(out), "hob.service") {
			t.Errorf("systemd-analyze verify: %v\n%s", err, out)
		}
	})
	t.Run("compose.yaml", func(t *testing.T) {
		var c struct {
			Services map[string]struct {
				Image            string
				Environment      map[string]string
				Volumes, Secrets []string
			}
			Secrets, Volumes map[string]any
		}
		failOnError(t, yaml.Unmarshal([]byte(files["yaml"]), &c))
		db := c.Services["db"]
		if !strings.HasPrefix(db.Image, "postgres:") || len(db.Volumes) == 0 || len(db.Secrets) == 0 {
			t.Errorf("service db is %+v, want an image of PostgreSQL with a volume and a secret", db)
		}
		for _, v := range db.Volumes {
			if name, _, _ := strings.Cut(v, ":"); !hasKey(c.Volumes, name) {
				t.Errorf("volume %q is not defined", name)
			}
		}
		for _, name := range db.Secrets {
			if !hasKey(c.Secrets, name) || db.Environment["POSTGRES_PASSWORD_FILE"] != "/run/secrets/"+name {
				t.Errorf("secret %q is not defined or not used", name)
			}
		}
	})
}

func hasKey(m map[string]any, key string) bool {
	_, ok := m[key]
	return ok
}
