//go:build unix

package email

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"hob/channels"
	"hob/platform/pim"
)

// testKills kills, at random moments, a process that receives and answers mails. No mail is lost,
// and a second copy of an answer has the same Message-ID. HOB_CRASH_KILLS sets the number of kills
// (default 6).
func testKills(t *testing.T, sv servers) {
	kills := 6
	if n, err := strconv.Atoi(os.Getenv("HOB_CRASH_KILLS")); err == nil && n > 0 {
		kills = n
	}
	w := sv.newFixture(t)
	p := program{IMAP: w.acc.Server(pim.IMAP), SMTP: w.acc.Server(pim.SMTP), CA: w.acc.CA, User: w.acc.User, Dir: t.TempDir()}
	conf, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	begin := func() (kill func()) {
		cmd := exec.Command(os.Args[0]) //nolint:gosec // this program
		cmd.Env = append(os.Environ(), childEnv+"="+string(conf))
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	kill := begin()
	w.waitUntil("the first saved state", func() bool { _, err := os.Stat(p.filePath(stateKey)); return err == nil })
	kill()
	mails := 4 * kills
	rnd := rand.New(rand.NewPCG(8, 100)) //nolint:gosec // a fixed seed makes runs reproducible
	put := w.d.Appender(w.acc.User, "INBOX")
	for i := range kills {
		who := fmt.Sprintf("ada%d@example.org", i%20) // many mails from a single sender would look like a loop
		for n := range mails / kills / 2 {
			put(letterTo(fmt.Sprintf("k%d.%d@x.org", i, n), who, "", fmt.Sprintf("mail %d.%d", i, n)))
		}
		kill := begin()
		for n := range mails / kills / 2 {
			put(letterTo(fmt.Sprintf("l%d.%d@x.org", i, n), who, "", fmt.Sprintf("mail %d.%d more", i, n)))
		}
		<-time.After(time.Duration(40+rnd.IntN(500)) * time.Millisecond)
		kill()
	}
	kill = begin()
	w.waitUntil("all are answered", func() bool { b, _ := os.ReadFile(p.filePath("done")); return bytes.Count(b, []byte("\n")) >= mails })
	kill()
	heard := map[string]int{}
	for _, in := range p.readInbox() {
		heard[in.Text]++
	}
	copies, answers := 0, map[string]bool{}
	for _, m := range w.parsedMails() {
		copies++
		answers[m.id] = true
	}
	if len(heard) != mails || len(p.readInbox()) != mails || len(answers) != mails {
		t.Errorf("%d mails: %d were received (%d messages), %d were answered", mails, len(heard), len(p.readInbox()), len(answers))
	}
	t.Logf("%d kills, %d mails: all received once; %d answers, %d second copies with the same Message-ID", kills, mails, len(answers), copies-len(answers))
}

const childEnv = "HOB_EMAIL_PROGRAM"

// program is a child process with an email channel, a minimal manager and its stores.
type program struct {
	IMAP, SMTP, CA, User, Dir string

	mu *sync.Mutex
}

func (p program) filePath(name string) string { return filepath.Join(p.Dir, name) }

// Get implements channels.StateStore.
func (p program) Get(_ context.Context, key string) ([]byte, error) {
	b, err := os.ReadFile(p.filePath(key))
	if os.IsNotExist(err) {
		return nil, nil
	}
	return b, err
}

// Set implements channels.StateStore.
func (p program) Set(_ context.Context, key string, value []byte) error {
	if err := os.WriteFile(p.filePath(key+".new"), value, 0o600); err != nil {
		return err
	}
	return os.Rename(p.filePath(key+".new"), p.filePath(key))
}

func (p program) readInbox() (out []message) {
	b, _ := os.ReadFile(p.filePath("inbox"))
	for line := range bytes.Lines(b) {
		var in message
		if json.Unmarshal(line, &in) == nil {
			out = append(out, in)
		}
	}
	return out
}

func (p program) addLine(name, line string) error {
	f, err := os.OpenFile(p.filePath(name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

func (p program) hasLine(name, line string) bool {
	b, _ := os.ReadFile(p.filePath(name))
	return strings.Contains("\n"+string(b), "\n"+line+"\n")
}

// message is the recorded part of a received mail.
type message struct {
	Key, Chat, Text string
	Payload         json.RawMessage
	At              time.Time
}

// Receive implements channels.Receiver.
func (p program) Receive(_ context.Context, in channels.Inbound) (channels.Accepted, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, old := range p.readInbox() {
		if old.Key == in.Key {
			return channels.Accepted{Repeated: true}, nil
		}
	}
	raw, err := json.Marshal(message{in.Key, in.Chat, in.Text, in.Payload, in.At})
	if err != nil {
		return channels.Accepted{}, err
	}
	return channels.Accepted{}, p.addLine("inbox", string(raw))
}

// runUntilKilled runs the channel, and receives and answers mails until the process is killed.
func (p program) runUntilKilled() error {
	p.mu = &sync.Mutex{}
	acc := pim.Account{Name: "work", Address: hob, User: p.User, Servers: pim.Servers{pim.IMAP: p.IMAP, pim.SMTP: p.SMTP}, CA: p.CA, Secret: func(context.Context) (string, error) { return "secret", nil }}
	ch, err := New(Config{Account: "work", TrustedHost: trusted}, channels.Deps{Log: slog.New(slog.DiscardHandler), Keep: p, Account: func(string) (pim.Account, error) { return acc, nil }})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			_ = ch.Run(ctx, p)
			<-time.After(20 * time.Millisecond)
		}
	}()
	cut := map[string]bool{}
	for _, in := range p.readInbox() {
		cut[in.Key] = p.hasLine("sending", in.Key) && !p.hasLine("done", in.Key)
	}
	for ; ctx.Err() == nil; <-time.After(10 * time.Millisecond) {
		p.mu.Lock()
		all := p.readInbox()
		p.mu.Unlock()
		for _, in := range all {
			if p.hasLine("done", in.Key) {
				continue
			}
			if err := p.answerMessage(ctx, ch, in, cut[in.Key]); err != nil {
				cut[in.Key] = true
			}
		}
	}
	return ctx.Err()
}

func (p program) answerMessage(ctx context.Context, ch *Channel, in message, unsure bool) error {
	d := channels.Delivery{ID: "answer to " + in.Key, Kind: channels.Reply, Chat: in.Chat, Cause: in.Payload, Text: "to " + in.Text, CreatedAt: in.At}
	if unsure {
		_, found, err := ch.Find(ctx, d)
		if err != nil {
			return err
		}
		if found {
			return p.addLine("done", in.Key)
		}
	}
	if err := p.addLine("sending", in.Key); err != nil {
		return err
	}
	if _, err := ch.Send(ctx, d); err != nil {
		return err
	}
	return p.addLine("done", in.Key)
}

// runChild runs the program and exits if this process was started as its child process.
func runChild() {
	conf := os.Getenv(childEnv)
	if conf == "" {
		return
	}
	var p program
	if err := json.Unmarshal([]byte(conf), &p); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	fmt.Fprintln(os.Stderr, p.runUntilKilled())
	os.Exit(1)
}
