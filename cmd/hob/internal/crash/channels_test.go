//go:build unix

package crash

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"hob/autonomy/llm/llmtest"
)

// chatPoints lists the failpoints at which the daemon is killed while people chat with it.
var chatPoints = []string{
	"channel.draft.after", "file.received.half", "file.outgoing.half", "store.commit.before", "message.fetched", "channel.draft.before", "channel.send.after",
	"file.outgoing.kept", "store.commit.after", "channel.send.before", "loop.claimed",
}

// The people who write on Telegram, each in a private chat with Hob.
const (
	fetcher = 7  // requests files from Hob
	hasty   = 8  // sends several short messages at a time
	giver   = 10 // sends files
)

// waitsFor is the configured debounce time (settle).
const waitsFor = 400 * time.Millisecond

// TestChatsOverKills kills the daemon repeatedly while people chat with Hob over Telegram, Slack
// and Discord: with short messages that are merged, answers that are shown while they grow, and
// files in both directions. HOB_CRASH_CHAT_KILLS sets the number of kills (default 5).
func TestChatsOverKills(t *testing.T) {
	t.Parallel()
	kills := envNumber("HOB_CRASH_CHAT_KILLS", 5)
	w := newFixture(t, uint64(envNumber("HOB_CRASH_SEED", 1)))
	p := newPlatforms(t)
	w.Env, w.replies = p.listEnv(), answerChat
	w.addConfig(fmt.Sprintf(`[network]
allow = [%q]
[channels.telegram]
token = "123456:AAsecretsecretsecret_-x"
settle = %q
[channels.slack]
bot_token = "xoxb-1"
app_token = "xapp-1"
[channels.discord]
token = "secret"
`, strings.TrimPrefix(p.srv.URL, "http://"), waitsFor.String()))
	w.daemonUp()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
	defer cancel()
	w.pairAccounts(ctx, p)

	c := &chat{daemonFixture: w, p: p, files: map[string][]byte{}}
	feeding, stop := context.WithCancel(ctx)
	var feeders sync.WaitGroup
	feeders.Go(func() { c.sendNotes(feeding) })
	feeders.Go(func() { c.sendFiles(feeding) })
	feeders.Go(func() { c.fetchFiles(feeding) })
	for _, at := range []string{"telegram:9", "slack:D1", "discord:21"} {
		feeders.Go(func() { c.requestStories(feeding, ctx, at) })
	}
	began := time.Now()
	for n := range kills {
		w.killChat(n)
	}
	t.Logf("%d kills in %s", kills, time.Since(began).Round(time.Second))
	w.daemonUp()
	stop()
	feeders.Wait()
	c.verifyAnswers(ctx, kills)
	w.Stop()
}

// pairAccounts pairs the owner with three accounts on Telegram.
func (w *daemonFixture) pairAccounts(ctx context.Context, p *platforms) {
	w.waitUntil(ctx, "Telegram to be heard", func() bool { return p.held.Load() }) // ignore earlier messages
	for _, who := range []int{fetcher, hasty, giver} {
		var c struct{ Code string }
		failOnError(w.t, w.Call(ctx, http.MethodPost, "/api/v1/channels/telegram/pair", struct{}{}, &c))
		p.addMessage(who, c.Code, "")
		w.waitUntil(ctx, "an account to be paired", func() bool {
			return slices.ContainsFunc(p.listPosts(), func(m postedMessage) bool { return m.chat == strconv.Itoa(who) })
		})
	}
}

// killChat starts the daemon and kills it, in two of three cases at a failpoint.
func (w *daemonFixture) killChat(n int) {
	w.Kill()
	point, life := "", time.Duration(1500+w.rnd.IntN(2500))*time.Millisecond // an answer takes two seconds
	if n%3 != 2 {
		name := chatPoints[(n-n/3)%len(chatPoints)]
		most := 4
		if strings.HasPrefix(name, "store.") {
			most = 60
		} else if strings.HasPrefix(name, "channel.draft.") {
			most, life = 2, 5*time.Second
		}
		point = fmt.Sprintf("%s:%d", name, 1+w.rnd.IntN(most))
	}
	w.startDaemon(point)
	select {
	case <-w.Exited():
		name, _, _ := strings.Cut(point, ":")
		w.points[name]++
	case <-time.After(life):
		w.Kill()
		w.random++
	}
}

var (
	chatWord = regexp.MustCompile(`(note|tell|look|send) (\d+)`)
	noteLine = regexp.MustCompile(`^note (\d+)$`)
)

// answerChat returns the model's answer.
func answerChat(r llmtest.Request) (llmtest.Answer, bool) {
	all := chatWord.FindAllStringSubmatch(r.LastUser, -1)
	if all == nil {
		return llmtest.Answer{Text: "what?"}, true
	}
	word, n := all[len(all)-1][1], all[len(all)-1][2]
	switch word {
	case "note":
		var got []string
		lines := strings.Split(strings.TrimSpace(r.LastUser), "\n")
		for _, l := range slices.Backward(lines) {
			m := noteLine.FindStringSubmatch(strings.TrimSpace(l))
			if m == nil {
				break
			}
			got = append([]string{"n" + m[1] + "."}, got...)
		}
		return llmtest.Answer{Text: "noted " + strings.Join(got, " ")}, true
	case "tell":
		text := fmt.Sprintf("Story %s. %sThe end of %s.", n, strings.Repeat("and then it went on ", 12), n)
		return llmtest.Answer{Text: text, Pieces: 24, Gap: 85 * time.Millisecond}, true
	case "look":
		begins, ends := bytes.Contains(r.Body, []byte("SCAN "+n+" ")), bytes.Contains(r.Body, []byte("END OF SCAN "+n+"."))
		saw := map[[2]bool]string{{true, true}: "whole", {true, false}: "half", {false, false}: "nothing"}[[2]bool{begins, ends}]
		return llmtest.Answer{Text: fmt.Sprintf("saw %s: %s.", n, saw)}, true
	}
	if len(r.Results) > 0 {
		return llmtest.Answer{Text: fmt.Sprintf("sent %s: %s", n, r.Results[0].Text)}, true
	}
	args := fmt.Sprintf(`{"name":"send_file","arguments":{"path":"~/Documents/out-%s.bin","text":"file %s."}}`, n, n)
	return llmtest.Answer{Calls: []llmtest.Call{{Name: "use_tool", Args: args}}}, true
}

// chat records the messages and their files.
type chat struct {
	*daemonFixture
	p *platforms

	mu            sync.Mutex
	written       int            // number of notes
	told          map[string]int // number of stories, by platform
	looked, asked int            // number of files sent to Hob, and requested from Hob
	files         map[string][]byte
}

func pauseFor(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// sendNotes sends one, two or three notes at a time.
func (c *chat) sendNotes(feeding context.Context) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for feeding.Err() == nil {
		for range 1 + rnd.IntN(3) {
			c.mu.Lock()
			n := c.written
			c.written++
			c.mu.Unlock()
			c.p.addMessage(hasty, fmt.Sprintf("note %d", n), "")
			pauseFor(feeding, time.Duration(rnd.IntN(int(waitsFor)*3/4)))
		}
		pauseFor(feeding, waitsFor+time.Duration(rnd.IntN(600))*time.Millisecond)
	}
}

// sendFiles sends short files one after the other, which the model reads completely.
func (c *chat) sendFiles(feeding context.Context) {
	for n := 0; feeding.Err() == nil; n++ {
		name := fmt.Sprintf("scan-%d.txt", n)
		data := fmt.Appendf(nil, "SCAN %d begins. %sEND OF SCAN %d.", n, strings.Repeat("line of words\n", 200), n)
		c.mu.Lock()
		c.looked++
		c.files[name] = data
		c.mu.Unlock()
		c.p.mu.Lock()
		c.p.files[name] = data
		c.p.mu.Unlock()
		c.p.addMessage(giver, fmt.Sprintf("look %d", n), name)
		c.awaitText(feeding, "telegram", fmt.Sprintf("saw %d:", n))
	}
}

// fetchFiles requests one file after the other.
func (c *chat) fetchFiles(feeding context.Context) {
	rnd := rand.NewChaCha8([32]byte{1})
	for n := 0; feeding.Err() == nil; n++ {
		name, data := fmt.Sprintf("out-%d.bin", n), make([]byte, 200<<10)
		_, _ = rnd.Read(data)
		if err := os.WriteFile(filepath.Join(filepath.Dir(c.effectsLog), name), data, 0o600); err != nil {
			c.t.Error(err)
			return
		}
		c.mu.Lock()
		c.asked++
		c.files[name] = data
		c.mu.Unlock()
		c.p.addMessage(fetcher, fmt.Sprintf("send %d", n), "")
		c.awaitText(feeding, "telegram", fmt.Sprintf("sent %d:", n))
	}
}

// requestStories requests one long answer after the other.
func (c *chat) requestStories(feeding, ctx context.Context, at string) {
	platform, _, _ := strings.Cut(at, ":")
	for n := 0; feeding.Err() == nil; n++ {
		c.mu.Lock()
		if c.told == nil {
			c.told = map[string]int{}
		}
		c.told[platform]++
		c.mu.Unlock()
		c.sendTo(ctx, at, fmt.Sprintf("tell %d", n))
		c.awaitText(feeding, platform, fmt.Sprintf("The end of %d.", n))
	}
}

// awaitText waits for a text from Hob, and then a little longer.
func (c *chat) awaitText(feeding context.Context, platform, text string) {
	for feeding.Err() == nil && !c.p.hasText(platform, text) {
		pauseFor(feeding, 10*time.Millisecond)
	}
	pauseFor(feeding, 100*time.Millisecond)
}

const repeated = "(possibly repeated) "

// countCopies returns how many extra copies of a text arrived. It is an error if the text did not arrive,
// or if a repeated copy is not marked.
func (c *chat) countCopies(what, platform, text string) (copies int) {
	plain, marked := 0, 0
	for _, m := range c.p.listPosts() {
		if m.platform == platform && strings.Contains(m.text, text) {
			if strings.HasPrefix(m.text, repeated) {
				marked++
			} else {
				plain++
			}
		}
	}
	switch {
	case plain+marked == 0:
		c.t.Errorf("lost: %s", what)
	case plain > 1:
		c.t.Errorf("sent %d times without the mark of a repetition: %s", plain, what)
	case platform != "telegram" && plain+marked > 1:
		c.t.Errorf("sent %d times on a platform with idempotency keys: %s", plain+marked, what)
	}
	return max(0, plain+marked-1)
}

func (c *chat) verifyAnswers(ctx context.Context, kills int) {
	t := c.t
	c.awaitAnswers(ctx)
	copies := 0
	for n := range c.written {
		copies += c.countCopies(fmt.Sprintf("the answer to note %d", n), "telegram", fmt.Sprintf("n%d.", n))
	}
	joined := c.verifyJoined(ctx)
	orphans := map[string]int{}
	for platform, count := range c.told {
		for n := range count {
			copies += c.countCopies(fmt.Sprintf("story %d on %s", n, platform), platform, fmt.Sprintf("The end of %d.", n))
		}
		for _, m := range c.p.listPosts() {
			if m.platform == platform && strings.Contains(m.text, "Story ") && !strings.Contains(m.text, "The end of") {
				orphans[platform]++
			}
		}
	}
	if orphans["slack"]+orphans["discord"] > 0 || orphans["telegram"] > kills {
		t.Errorf("drafts remain although the answer is another message: %v", orphans)
	}
	for n := range c.looked {
		copies += c.countCopies(fmt.Sprintf("the file scan-%d.txt, as a whole", n), "telegram", fmt.Sprintf("saw %d: whole.", n))
	}
	for n := range c.asked {
		copies += c.countCopies(fmt.Sprintf("the answer to send %d", n), "telegram", fmt.Sprintf("sent %d: ", n))
		copies += c.countCopies(fmt.Sprintf("file %d", n), "telegram", fmt.Sprintf("file %d.", n))
	}
	c.verifyFiles()
	t.Logf("%d kills (%d at random, %v): %d notes, of which %d became a part of another; stories %v, orphaned drafts %v; %d files came, %d went out; %d copies marked as possibly repeated",
		kills, c.random, c.points, c.written, joined, c.told, orphans, c.looked, c.asked, copies)
}

// awaitAnswers waits until everything was answered.
func (c *chat) awaitAnswers(ctx context.Context) {
	last := func(platform, text string, count int) bool {
		for n := range count {
			if !c.p.hasText(platform, fmt.Sprintf(text, n)) {
				return false
			}
		}
		return true
	}
	c.waitUntil(ctx, "every answer", func() bool {
		for platform, count := range c.told {
			if !last(platform, "The end of %d.", count) {
				return false
			}
		}
		return last("telegram", "n%d.", c.written) && last("telegram", "saw %d:", c.looked) && last("telegram", "sent %d: ", c.asked) && last("telegram", "file %d.", c.asked)
	})
	time.Sleep(time.Second) // time for messages that must not arrive
}

// verifyJoined checks that each note is part of exactly one event, and that notes are in different
// events only if the debounce time had passed in between. An event id is created slightly before
// its event is stored, so a few events may appear to be too early on a busy machine.
func (c *chat) verifyJoined(ctx context.Context) (joined int) {
	var events []struct{ ID, Session, Text string }
	failOnError(c.t, c.Call(ctx, http.MethodGet, "/api/v1/inbox?limit=100000", nil, &events))
	slices.SortFunc(events, func(a, b struct{ ID, Session, Text string }) int { return strings.Compare(a.ID, b.ID) })
	in, before, soon := map[string]int{}, time.Time{}, 0
	for _, e := range events {
		if e.Session != "telegram:"+strconv.Itoa(hasty) || !strings.Contains(e.Text, "note ") {
			continue
		}
		lines := strings.Split(e.Text, "\n")
		for _, l := range lines {
			in[l]++
		}
		joined += len(lines) - 1
		at := bornAt(e.ID)
		if at.Sub(before) < waitsFor-20*time.Millisecond {
			c.t.Logf("%q came %s after the previous message and has a separate answer", e.Text, at.Sub(before))
			soon++
		}
		before = at
	}
	if soon > 2+c.written/50 {
		c.t.Errorf("%d of %d messages have a separate answer although they came shortly after another", soon, c.written)
	}
	for n := range c.written {
		if k := in[fmt.Sprintf("note %d", n)]; k != 1 {
			c.t.Errorf("message %d is in %d events", n, k)
		}
	}
	return joined
}

// bornAt returns the time in a UUIDv7 (RFC 9562, section 5.7).
func bornAt(id string) time.Time {
	b, err := hex.DecodeString(strings.ReplaceAll(id, "-", ""))
	if err != nil || len(b) < 8 {
		return time.Time{}
	}
	return time.UnixMilli(int64(binary.BigEndian.Uint64(b) >> 16))
}

// verifyFiles checks the files: each received file exists exactly once and is complete, there are
// no other files, and only requested files were sent.
func (c *chat) verifyFiles() {
	dir := filepath.Join(filepath.Dir(c.effectsLog), "Hob", "Received")
	entries, err := os.ReadDir(dir)
	failOnError(c.t, err)
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if want, ok := c.files[e.Name()]; err != nil || !ok || !bytes.Equal(b, want) {
			c.t.Errorf("%s has %d bytes, want %d, %v", e.Name(), len(b), len(want), err)
		}
	}
	if len(entries) != c.looked {
		c.t.Errorf("%d files are stored, want %d", len(entries), c.looked)
	}
	for _, m := range c.p.listPosts() {
		if want := c.files[m.name]; m.name != "" && !bytes.Equal(m.file, want) {
			c.t.Errorf("%s was sent with %d bytes, want %d", m.name, len(m.file), len(want))
		}
	}
	half, err := filepath.Glob(filepath.Join(c.dir, "hob-home", "outgoing", ".*"))
	if err != nil || len(half) > 0 {
		c.t.Errorf("partial files: %q, %v", half, err)
	}
}
