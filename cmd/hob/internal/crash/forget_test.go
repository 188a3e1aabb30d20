//go:build unix

package crash

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf16"

	"hob/autonomy/llm/llmtest"
)

// erasePoints lists the failpoints of an erasure at which the daemon is killed.
var erasePoints = []string{"erase.swept", "erase.purged", "erase.cleared", "erase.compacted", "store.commit.after", "store.commit.before"}

// TestForget_LeavesNoTraceAfterKills checks that forgotten text remains nowhere in the home. It creates
// messages, actions, undos and summaries with random phrases, and forgets one phrase in one of
// three ways, sometimes with a kill in the middle. After a clean stop no file of the home contains
// the phrase in any encoding, nor does the log. HOB_FORGET_ROUNDS (default 4) and HOB_FORGET_SEED
// choose the run.
func TestForget_LeavesNoTraceAfterKills(t *testing.T) {
	t.Parallel()
	rounds := envNumber("HOB_FORGET_ROUNDS", 4)
	seed := uint64(envNumber("HOB_FORGET_SEED", 1))
	f := &erasureRun{daemonFixture: newFixture(t, seed), model: &echoModel{}, known: map[string]bool{}}
	f.replies = f.model.replyTo
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Minute)
	defer cancel()
	conf := filepath.Join(f.dir, "hob-home", "config.toml")
	b, err := os.ReadFile(conf)
	failOnError(t, err)
	b = bytes.ReplaceAll(b, []byte("[notify]\nchannel = \"webhook\""), []byte("[notify]\nchannel = \"web\""))
	failOnError(t, os.WriteFile(conf, append(b, []byte("\n[knowledge]\nsummary_chars = 6000\nsummary_keep = 4\n")...), 0o600))
	f.docs = filepath.Dir(f.effectsLog)
	for n := range rounds {
		f.runRound(ctx, n)
		if t.Failed() {
			return
		}
	}
}

// erasureRun is a daemon in which phrases are forgotten.
type erasureRun struct {
	*daemonFixture
	model *echoModel
	docs  string
	did   []string
	died  bool
	known map[string]bool // erasures of earlier rounds
}

// runRound creates phrases, uses them in random actions, forgets one of them and searches for its
// traces.
func (f *erasureRun) runRound(ctx context.Context, n int) {
	f.t.Helper()
	f.did, f.died = nil, false
	f.daemonUp()
	var phrases []string
	for range 3 {
		phrases = append(phrases, f.uniquePhrase())
	}
	session := fmt.Sprintf("s%d", n)
	for range 10 + f.rnd.IntN(10) {
		f.actRandomly(ctx, session, phrases[f.rnd.IntN(len(phrases))])
	}
	how := []string{"query", "query", "id", "source"}[n%4]
	gone := phrases[0]
	if how == "id" { // an erasure by id keeps other facts with the same text
		gone = f.uniquePhrase()
	}
	f.runTool(ctx, session, "remember", map[string]any{"text": fmt.Sprintf("the code of house %d is %s", n, gone)})
	f.sendMessage(ctx, session, "do:: recall "+encodeJSON(map[string]any{"query": gone}))
	if how == "id" {
		f.sendMessage(ctx, session, "say:: so it is "+gone+", is it")
		f.sendMessage(ctx, session, "do:: create_note "+encodeJSON(map[string]any{"text": "for the house: " + gone}))
	}
	if how == "source" { // text that occurs only in this conversation
		gone = f.uniquePhrase()
		session = fmt.Sprintf("only%d", n)
		for range 4 {
			f.runStep(ctx, session, gone, said[f.rnd.IntN(len(said))])
		}
	}
	before := len(filesContaining(f.t, filepath.Join(f.dir, "hob-home"), gone))
	if before == 0 && how != "source" {
		f.t.Errorf("round %d: %q is stored nowhere before it is forgotten, so the round proves nothing\n%s", n, gone, strings.Join(f.did, "\n"))
	}
	point := ""
	if n%2 == 1 {
		point = fmt.Sprintf("%s:%d", erasePoints[f.rnd.IntN(len(erasePoints))], 1+f.rnd.IntN(3))
		f.Kill()
		f.startDaemon(point)
	}
	f.forgetPhrase(ctx, n, how, session, gone)
	if point != "" {
		time.Sleep(time.Duration(f.rnd.IntN(400)) * time.Millisecond) // a kill at a random instant, unless the failpoint was hit before
		f.died = f.died || !f.isAlive()
		f.daemonUp()
	}
	f.waitUntil(ctx, "the erasure", func() bool { return f.isErased(ctx) })
	f.model.forbidPhrase(gone)
	f.goesOn(ctx, session)
	f.Stop()
	f.t.Logf("round %d: %s, %d traces, killed at %q, died %v", n, how, before, point, f.died)
	for _, left := range filesContaining(f.t, filepath.Join(f.dir, "hob-home"), gone) {
		f.t.Errorf("round %d (seed %d), %s, killed at %q: %q is still in %s\n%s", n, envNumber("HOB_FORGET_SEED", 1), how, point, gone, left, strings.Join(f.did, "\n"))
	}
	log, err := os.ReadFile(f.LogFile())
	failOnError(f.t, err)
	if i := bytes.Index(log, []byte(gone)); i >= 0 {
		f.t.Errorf("the log contains the text: %q", log[max(0, i-400):i+len(gone)])
	}
	if seen := f.model.seenPhrase(); seen != "" {
		f.t.Errorf("a request after the erasure contains %q: %s\n%s", gone, seen, strings.Join(f.did, "\n"))
	}
}

// uniquePhrase returns a phrase that occurs nowhere else.
func (f *erasureRun) uniquePhrase() string {
	k := 1000 + f.rnd.IntN(9000)
	return []string{
		fmt.Sprintf("Kestrel-%d%c", k, 'a'+rune(f.rnd.IntN(26))),
		fmt.Sprintf("purple otter lane %d%d", k, f.rnd.IntN(100)),
		fmt.Sprintf("Zoë's Fjordström %d", k*7),
		fmt.Sprintf(`the "blue" gate/%d & moat`, k*3),
		fmt.Sprintf("ana.petrova%d@example.net", k),
		fmt.Sprintf("ключ-%d под горшком", k),
	}[f.rnd.IntN(6)]
}

// said lists the actions whose traces are all removed with the conversation.
var said = []int{1, 2, 9, 12, 14}

// actRandomly performs a random action with a phrase.
func (f *erasureRun) actRandomly(ctx context.Context, session, p string) {
	f.runStep(ctx, session, p, f.rnd.IntN(23))
}

func (f *erasureRun) runStep(ctx context.Context, session, p string, what int) {
	file := filepath.Join(f.docs, fmt.Sprintf("f%d.txt", f.rnd.IntN(3)))
	use := func(tool string, args map[string]any) {
		if f.sendMessage(ctx, session, "do:: "+tool+" "+encodeJSON(args)) == asks {
			f.sendMessage(ctx, session, "/deny all "+p+" is secret")
		}
	}
	switch what {
	case 0:
		f.runTool(ctx, session, "remember", map[string]any{"text": "Ana wrote " + p + " on the wall"})
	case 1:
		use("remember", map[string]any{"text": "my locker code is " + p})
	case 2:
		f.sendMessage(ctx, session, "say:: I like "+p+" a lot. "+strings.Repeat("And so on. ", f.rnd.IntN(200)))
	case 3:
		use("create_note", map[string]any{"title": "About " + p, "text": "first line\n" + p + "\nlast line"})
	case 4:
		use("create_task", map[string]any{"title": "call about " + p})
	case 5:
		use("create_reminder", map[string]any{"text": "think of " + p, "at": time.Now().UTC().Add(time.Hour).Format(time.RFC3339)})
	case 6, 7:
		use("write_file", map[string]any{"path": file, "content": strings.Repeat("x", f.rnd.IntN(40)) + p + strings.Repeat("\nmore", f.rnd.IntN(6000))})
	case 8:
		use("read_file", map[string]any{"path": file})
	case 9:
		use("recall", map[string]any{"query": p})
	case 10:
		f.sendMessage(ctx, session, "/undo")
	case 11:
		f.postJSON(ctx, "/api/v1/manage/backup", nil)
	case 12:
		use("run_command", map[string]any{"command": "touch /tmp/" + url.PathEscape(p)})
	case 13:
		use("log_expense", map[string]any{"amount": "12.50", "currency": "EUR", "category": "gifts", "vendor": p})
	case 15, 16:
		name := filepath.Join(f.docs, fmt.Sprintf("%d.md", f.rnd.IntN(1e6)))
		text := "# Of " + p + "\n\n" + strings.Repeat("The roof was done in May. ", f.rnd.IntN(300)) + "\n\nThe gate is at " + p + ".\n"
		failOnError(f.t, os.WriteFile(name, []byte(text), 0o600))
		f.runTool(ctx, session, "ingest_document", map[string]any{"path": name, "title": "Paper on " + p})
	case 17:
		f.getQuietly(ctx, "/api/v1/memory/export?format=jsonl&conversations=1")
		f.getQuietly(ctx, "/api/v1/memory?q="+url.QueryEscape(p))
	case 18:
		f.runTool(ctx, session, "link_entities", map[string]any{"from": "Ana", "relation": "works at", "to": p})
	case 19: // one of two facts is merged into the other
		f.runTool(ctx, session, "remember", map[string]any{"text": "to find " + p + ", take the left path"})
		f.runTool(ctx, session, "remember", map[string]any{"text": "to find " + p + ", please take left path"})
		f.postJSON(ctx, "/api/v1/memory/consolidate", map[string]any{})
	case 20:
		f.runTool(ctx, session, "remember", map[string]any{"text": "the concert is at " + p, "kind": "event", "until": "tomorrow"})
		f.postJSON(ctx, "/api/v1/memory/consolidate", map[string]any{})
		if f.rnd.IntN(2) == 0 {
			f.runTool(ctx, session, "undo", map[string]any{})
		}
	case 21: // an intent that waits, and one that fires
		f.runTool(ctx, session, "create_intent", map[string]any{"from": "me", "words": []string{p}, "remind": "ask about " + p})
		f.runTool(ctx, session, "create_intent", map[string]any{"words": []string{"harbour"}, "from": "me", "remind": "mention " + p})
		f.sendMessage(ctx, "other", "say:: at the harbour")
	case 22:
		f.runTool(ctx, session, "link_entities", map[string]any{"from": p, "relation": "guards " + p, "to": "Ben"})
	case 14:
		f.sendMessage(ctx, session, "No, that's wrong: always write "+p+" instead. Don't ask me about "+p+" again.")
	}
}

func encodeJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain maps always encode
	}
	return string(b)
}

func (f *erasureRun) addNote(format string, args ...any) {
	f.did = append(f.did, time.Now().UTC().Format("05.000 ")+fmt.Sprintf(format, args...))
}

// sendMessage sends a message and returns the answer, or none if the daemon was killed.
func (f *erasureRun) sendMessage(ctx context.Context, session, text string) string {
	var out map[string]any
	err := f.Call(ctx, http.MethodPost, "/api/v1/sessions/"+session+"/messages", map[string]any{"text": text}, &out)
	f.addNote("> %.150s: %.120v %v", text, out, err)
	if out["approvals"] != nil {
		return asks
	}
	return fmt.Sprint(out["answer"])
}

// asks is the result of say for an action that waits for approval.
const asks = "?"

func (f *erasureRun) postJSON(ctx context.Context, path string, in any) map[string]any {
	var out map[string]any
	err := f.Call(ctx, http.MethodPost, path, in, &out)
	f.addNote("POST %s %.150v: %.150v %v", path, in, out, err)
	return out
}

// getQuietly reads data in order to leave traces; errors of a killed daemon are ignored.
func (f *erasureRun) getQuietly(ctx context.Context, path string) {
	var out any
	err := f.Call(ctx, http.MethodGet, path, nil, &out)
	f.addNote("GET %s: %.150v %v", path, out, err)
}

// runTool runs a tool as the owner and approves its requests.
func (f *erasureRun) runTool(ctx context.Context, session, name string, args map[string]any) {
	out := f.postJSON(ctx, "/api/v1/tools/"+name, map[string]any{"arguments": args, "session": session})
	asked, _ := out["approvals"].([]any)
	for _, a := range asked {
		q, _ := a.(map[string]any)
		f.postJSON(ctx, fmt.Sprintf("/api/v1/sessions/%v/approvals/%v", q["session"], q["id"]), map[string]any{"approved": true})
	}
}

// forgetPhrase erases the phrase in one of three ways, as the owner or through the model.
func (f *erasureRun) forgetPhrase(ctx context.Context, n int, how, session, p string) {
	args := map[string]any{"query": p, "everything": true}
	switch how {
	case "id":
		var list []struct{ ID, Text string }
		if err := f.Call(ctx, http.MethodGet, "/api/v1/memory?limit=1000", nil, &list); err == nil {
			for _, x := range list {
				if strings.HasPrefix(x.Text, fmt.Sprintf("the code of house %d is", n)) {
					args = map[string]any{"id": x.ID}
				}
			}
		}
	case "source":
		args = map[string]any{"source": "session:" + session}
	}
	if f.rnd.IntN(2) == 0 {
		f.runTool(ctx, "other", "forget", args)
	} else {
		f.sendMessage(ctx, "other", "do:: forget "+encodeJSON(args))
		f.sendMessage(ctx, "other", "/approve")
	}
	for range 5 { // repeat the request if the kill lost the approval
		f.died = f.died || !f.isAlive()
		if f.hasBegun(ctx) {
			return
		}
		f.daemonUp()
		f.runTool(ctx, "other", "forget", args)
	}
	f.t.Errorf("the erasure did not start\n%s", strings.Join(f.did, "\n"))
}

func (f *erasureRun) isAlive() bool {
	select {
	case <-f.Exited():
		return false
	default:
		return true
	}
}

type erasure struct {
	ID, State string
	BegunAt   time.Time `json:"begun_at"`
}

func (f *erasureRun) listErasures(ctx context.Context) (list []erasure, err error) {
	return list, f.Call(ctx, http.MethodGet, "/api/v1/memory/erasures", nil, &list)
}

func (f *erasureRun) hasBegun(ctx context.Context) bool {
	deadline := time.Now().Add(3 * time.Second)
	for time.Now().Before(deadline) {
		list, err := f.listErasures(ctx)
		for _, e := range list {
			if !f.known[e.ID] {
				f.known[e.ID] = true
				f.addNote("erasure %s begun", e.ID)
				return true
			}
		}
		if err != nil && !f.isAlive() {
			f.died = true
			f.daemonUp()
		}
		time.Sleep(20 * time.Millisecond)
	}
	return false
}

func (f *erasureRun) isErased(ctx context.Context) bool {
	list, err := f.listErasures(ctx)
	if err != nil {
		return false
	}
	for _, e := range list {
		if e.State != "done" {
			return false
		}
	}
	return len(list) > 0
}

// goesOn checks features that an erasure must not break.
func (f *erasureRun) goesOn(ctx context.Context, session string) {
	for _, s := range []string{session, "other"} {
		got := f.sendMessage(ctx, s, "say:: are you there")
		if got == asks { // a request from before the kill is still pending
			f.sendMessage(ctx, s, "/deny all")
			got = f.sendMessage(ctx, s, "say:: are you there")
		}
		if !strings.Contains(got, "are you there") {
			f.t.Errorf("the conversation %s does not continue: %q\n%s", s, got, strings.Join(f.did, "\n"))
		}
	}
	f.sendMessage(ctx, session, "do:: recall "+encodeJSON(map[string]any{"query": "the code of the house"}))
	for _, path := range []string{"/api/v1/audit/verify", "/api/v1/undo", "/api/v1/why", "/api/v1/sessions", "/api/v1/memory", "/api/v1/notes", "/api/v1/approvals", "/api/v1/sessions/" + session + "/messages"} {
		var out any
		if err := f.Call(ctx, http.MethodGet, path, nil, &out); err != nil {
			f.t.Errorf("%s: %v", path, err)
		}
	}
	var played any
	if err := f.Call(ctx, http.MethodPost, "/api/v1/sessions/"+session+"/replay", map[string]any{}, &played); err != nil {
		f.t.Errorf("replay: %v", err)
	}
}

// echoModel is a model that follows orders and repeats the text it received.
type echoModel struct {
	mu        sync.Mutex
	forbidden string
	held      string
}

var order = regexp.MustCompile(`do:: (\w+) (\{.*\})`)

func (p *echoModel) replyTo(r llmtest.Request) (llmtest.Answer, bool) {
	p.mu.Lock()
	if p.forbidden != "" && strings.Contains(string(r.Body), p.forbidden) {
		i := strings.Index(string(r.Body), p.forbidden)
		p.held = string(r.Body)[max(0, i-1500):min(len(r.Body), i+300)]
	}
	p.mu.Unlock()
	if len(r.Results) > 0 {
		return llmtest.Answer{Text: fmt.Sprintf("It says: %.3000s", r.Results[len(r.Results)-1].Text)}, true
	}
	// The owner's message comes last; recalled text before them may contain earlier orders.
	said := r.LastUser[max(0, strings.LastIndex(r.LastUser, "\n\n")):]
	if m := order.FindStringSubmatch(said); m != nil {
		args, err := json.Marshal(map[string]any{"name": m[1], "arguments": json.RawMessage(m[2])})
		if err != nil {
			return llmtest.Answer{Text: "what?"}, true
		}
		return llmtest.Answer{Calls: []llmtest.Call{{Name: "use_tool", Args: string(args)}}}, true
	}
	return llmtest.Answer{Text: fmt.Sprintf("You said: %.500s", r.LastUser)}, true
}

func (p *echoModel) forbidPhrase(phrase string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forbidden, p.held = strings.Trim(encodeJSON(phrase), `"`), ""
}

func (p *echoModel) seenPhrase() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forbidden = ""
	return p.held
}

// filesContaining lists the files in a folder that contain a phrase in some encoding. It shares no code with
// the erasure.
func filesContaining(t *testing.T, dir, phrase string) (out []string) {
	t.Helper()
	forms := encodedForms(phrase)
	err := fs.ErrNotExist
	for n := 0; errors.Is(err, fs.ErrNotExist) && n < 20; n++ { // search again if a file disappears or moves during the search
		out, err = searchFolder(dir, forms)
	}
	failOnError(t, err)
	return out
}

func searchFolder(dir string, forms map[string][]byte) (out []string, _ error) {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		small := bytes.ToLower(b)
		for name, form := range forms {
			in := b
			if !strings.HasPrefix(name, "base64") {
				in, form = small, bytes.ToLower(form)
			}
			if i := bytes.Index(in, form); i >= 0 {
				out = append(out, fmt.Sprintf("%s (%s): %q", path, name, in[max(0, i-200):min(len(in), i+len(form)+100)]))
			}
		}
		return nil
	})
	return out, err
}

func encodedForms(p string) map[string][]byte {
	out := map[string][]byte{
		"as it stands": []byte(p), "upper": []byte(strings.ToUpper(p)), "JSON": []byte(strings.Trim(encodeJSON(p), `"`)),
		"JSON in JSON": []byte(strings.Trim(encodeJSON(encodeJSON(p)), `"\`)), "hexadecimal": []byte(hex.EncodeToString([]byte(p))),
		"query": []byte(url.QueryEscape(p)), "path": []byte(url.PathEscape(p)),
	}
	var little, big []byte
	for _, u := range utf16.Encode([]rune(p)) {
		little, big = append(little, byte(u), byte(u>>8)), append(big, byte(u>>8), byte(u))
	}
	out["UTF-16"], out["UTF-16 big"] = little, big
	for shift := range 3 { // omit the characters that also depend on neighboring text
		text := append(bytes.Repeat([]byte{'x'}, shift), p...)
		text = text[:len(text)/3*3]
		enc := base64.StdEncoding.EncodeToString(text)
		out[fmt.Sprintf("base64 %d", shift)] = []byte(enc[(shift*8+5)/6:])
	}
	return out
}
