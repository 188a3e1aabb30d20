package imessage_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/imessage"
	"hob/platform/host/osrun"
	"hob/platform/pim/messages/chatdbtest"
)

// folder stores values as files, so that other processes can read them.
type folder string

func (f folder) Get(_ context.Context, key string) ([]byte, error) {
	b, err := os.ReadFile(filepath.Join(string(f), key))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return b, err
}

func (f folder) Set(_ context.Context, key string, value []byte) error {
	to := filepath.Join(string(f), key)
	if err := os.WriteFile(to+".new", value, 0o600); err != nil {
		return err
	}
	return os.Rename(to+".new", to)
}

const (
	killTexts = 8 // texts per round
	killHome  = "HOB_KILL_HOME"
	killRound = "HOB_KILL_ROUND"
)

// killText returns a text of a round, and killState the key under which its progress is stored.
func killText(round, i int) string  { return fmt.Sprintf("text %d of round %d", i, round) }
func killState(round, i int) string { return fmt.Sprintf("d%d.%d", round, i) }

// TestKilled checks that every text arrives exactly once although the sending process is killed
// repeatedly, with or without the script that it started. The child process searches for each
// interrupted text before it resends the text, as the manager does.
func TestKilled(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SIGKILL is not supported")
	}
	kills := 5
	if n, err := strconv.Atoi(os.Getenv("HOB_CRASH_KILLS")); err == nil {
		kills = n
	}
	m := newMac(t, chatdbtest.Newest())
	m.db.Chat(ada, "iMessage", false)
	if err := os.Mkdir(filepath.Join(m.home, "keep"), 0o700); err != nil {
		t.Fatal(err)
	}
	keep := folder(filepath.Join(m.home, "keep"))
	arrived := func() int64 { return m.db.Int("SELECT count(*) FROM message WHERE is_from_me = 1") }
	round, waits := 0, 0
	sender := func() *exec.Cmd {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilledSender$")
		cmd.Env = append(os.Environ(), killHome+"="+m.home, killRound+"="+strconv.Itoa(round))
		return cmd
	}
	sent := func() bool {
		b, err := keep.Get(t.Context(), killState(round, killTexts-1))
		return err == nil && string(b) == "sent"
	}
	for done := range kills {
		cmd := sender()
		group := done%3 == 2 // the script is killed too
		startInGroup(cmd)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		before := arrived()
		channelstest.Until(t, "the sender to start", func() bool {
			_, err := os.Stat(filepath.Join(m.home, "begun"))
			return err == nil || arrived() > before || sent()
		})
		_ = os.Remove(filepath.Join(m.home, "begun"))
		time.Sleep(time.Duration(rand.IntN(120)) * time.Millisecond) // kill at a random moment
		killProcess(cmd, group)
		if err := cmd.Wait(); err == nil && !sent() {
			t.Fatalf("the sender ended before it was killed: %s", out.String())
		}
		if group {
			waits++
		}
		if sent() {
			round++
		}
	}
	if out, err := sender().CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for r := range round + 1 {
		for i := range killTexts {
			if n := m.db.Int("SELECT count(*) FROM message WHERE is_from_me = 1 AND destination_caller_id = ?", killText(r, i)); n != 1 {
				t.Errorf("%s arrived %d times", killText(r, i), n)
			}
		}
	}
	t.Logf("%d kills, %d of them with the script, %d texts", kills, waits, arrived())
}

// TestKilledSender runs in the process that TestKilled kills.
func TestKilledSender(t *testing.T) {
	home := os.Getenv(killHome)
	if home == "" {
		t.Skip("runs within TestKilled")
	}
	keep := folder(filepath.Join(home, "keep"))
	c, err := imessage.New(imessage.Config{}, channels.Deps{
		Log: slog.New(slog.DiscardHandler), Keep: keep, Dir: filepath.Join(home, "hob"),
		Getenv: func(k string) string { return map[string]string{"HOME": home}[k] },
		Scripts: osrun.NewScripts(osrun.Options{Getenv: func(string) string { return "" }, Output: func(_ context.Context, _ *exec.Cmd, in []byte) ([]byte, error) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestFakeOsascript$")
			cmd.Env = append(os.Environ(), "HOB_KILL_SCRIPT="+filepath.Join(home, uuid.NewString()))
			cmd.Stdin = bytes.NewReader(in)
			if err := os.WriteFile(filepath.Join(home, "begun"), nil, 0o600); err != nil {
				return nil, err
			}
			if out, err := cmd.CombinedOutput(); err != nil {
				return nil, fmt.Errorf("%w: %s", err, out)
			}
			return []byte(`{"ok":true,"data":{"taken":true}}`), nil
		}}),
	}, imessage.Options{GOOS: "darwin", Verify: 5 * time.Second, Orphan: 3 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	round, err := strconv.Atoi(os.Getenv(killRound))
	if err != nil {
		t.Fatal(err)
	}
	for i := range killTexts {
		state := killState(round, i)
		d := newDelivery(state, ada, killText(round, i))
		for {
			b, err := keep.Get(t.Context(), state)
			if err != nil {
				t.Fatal(err)
			}
			if string(b) == "sent" {
				break
			}
			found := false
			if b != nil {
				if _, found, err = c.Find(t.Context(), d); err != nil {
					time.Sleep(20 * time.Millisecond)
					continue
				}
			}
			if !found {
				if err := keep.Set(t.Context(), state, []byte("sending")); err != nil {
					t.Fatal(err)
				}
				if _, err := c.Send(t.Context(), d); err != nil {
					continue
				}
			}
			if err := keep.Set(t.Context(), state, []byte("sent")); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestFakeOsascript simulates osascript and Messages: it writes a row after a delay and responds
// after another delay.
func TestFakeOsascript(t *testing.T) {
	home := os.Getenv("HOB_KILL_SCRIPT")
	if home == "" {
		t.Skip("runs within TestKilled")
	}
	var c call
	if err := json.NewDecoder(os.Stdin).Decode(&c); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Duration(rand.IntN(40)) * time.Millisecond)
	db := chatdbtest.Reopen(t, filepath.Join(filepath.Dir(home), "Library", "Messages", "chat.db"), chatdbtest.Newest())
	db.Say(chatdbtest.Message{GUID: uuid.NewString(), Chat: db.Chat(ada, "iMessage", false), Text: c.Body, At: time.Now(), Values: map[string]any{"is_sent": 1, "destination_caller_id": c.Body}})
	time.Sleep(time.Duration(rand.IntN(40)) * time.Millisecond)
}
