package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"hob/autonomy/llm"
	"hob/autonomy/llm/llmtest"
	"hob/platform/pim/pimtest"
)

// officeRequest is a line of the section day: a message, the call that the scripted model makes for
// it, and a pattern that the result matches.
type officeRequest struct {
	session, text, tool, args string
	result                    *regexp.Regexp
}

// TestOfficeDay plays the requests of one day over the chat API: a scripted model makes one call for
// each request in testdata/office/day.txtar, with a real mail server, a real calendar server and
// web pages in the forms of the public APIs. Then it compares the state: stored records, the
// mailbox, the calendar and files.
func TestOfficeDay(t *testing.T) {
	a, err := txtar.ParseFile("testdata/office/day.txtar")
	failOnError(t, err)
	now, home := time.Now().UTC(), t.TempDir()
	days := strings.NewReplacer("{today}", now.Format(time.DateOnly), "{tomorrow}", now.AddDate(0, 0, 1).Format(time.DateOnly),
		"{home}", filepath.ToSlash(home), "{yesterday}", now.AddDate(0, 0, -1).Format(time.DateOnly), "{rfc5322}", now.Add(-2*time.Hour).Format(time.RFC1123Z))
	for i, f := range a.Files {
		a.Files[i].Data = []byte(days.Replace(string(f.Data)))
	}
	asked := readOfficeRequests(t, readSection(a, "day"))
	model := llmtest.NewServer(t, llmtest.Options{Key: llmtest.Key, Reply: func(r llmtest.Request) (llmtest.Answer, bool) {
		if n := len(r.Results); n > 0 {
			return llmtest.Answer{Text: "RESULT " + r.Results[n-1].Text}, true
		}
		i := slices.IndexFunc(asked, func(q officeRequest) bool { return strings.HasSuffix(r.LastUser, "\n"+q.text) })
		if i < 0 || len(r.Tools) == 0 {
			return llmtest.Answer{Text: "Nothing to add."}, true
		}
		q := asked[i]
		if slices.ContainsFunc(r.Tools, func(x llm.Tool) bool { return x.Name == q.tool }) {
			return llmtest.Answer{Calls: []llmtest.Call{{Name: q.tool, Args: q.args}}}, true
		}
		return llmtest.Answer{Calls: []llmtest.Call{{Name: "use_tool", Args: fmt.Sprintf(`{"name":%q,"arguments":%s}`, q.tool, q.args)}}}, true
	}})
	mail, post, cal := pimtest.StartDovecot(t, ""), pimtest.StartSMTP(t), pimtest.StartRadicale(t)
	cal.Make("Work")
	for _, f := range a.Files {
		if strings.HasPrefix(f.Name, "mail/") {
			mail.Deliver("tester", "INBOX", string(f.Data), now.Add(-2*time.Hour))
		} else if name, ok := strings.CutPrefix(f.Name, "event/"); ok {
			cal.Put("Work", name, strings.TrimSpace(string(f.Data)))
		}
	}
	for _, f := range a.Files {
		if name, ok := strings.CutPrefix(f.Name, "home/"); ok {
			failOnError(t, os.MkdirAll(filepath.Dir(filepath.Join(home, name)), 0o700))
			failOnError(t, os.WriteFile(filepath.Join(home, name), f.Data, 0o600))
		}
	}
	conf := fmt.Sprintf("[accounts.work]\nimap = %q\nsmtp = %q\nca = %q\naddress = \"tester@test.local\"\npassword = %q\n[accounts.home]\ncaldav = %q\nuser = \"tester\"\npassword = %[4]q\n",
		mail.IMAPS, post.URL, pimtest.Both(t, mail.CA, post.CA), pimtest.Secret, cal.URL)
	s := &scenarioRun{model: model, net: webOf(t, a)}
	s.daemonFixture = openScriptedWith(t, home, model.URL, playWay{api: llmtest.OpenAI}, "[autonomy]\nsend_delay = \"0s\"\n"+conf+readSection(a, "config"), Options{Network: s.net.Options()})
	for _, q := range asked {
		code, body := s.callAPI(http.MethodPost, "/api/v1/sessions/"+q.session+"/messages", map[string]string{"text": q.text})
		if code == http.StatusAccepted {
			body = []byte(s.approveAll(body))
		} else if code != http.StatusOK {
			t.Errorf("%s: %d %s", q.text, code, body)
			continue
		}
		var got struct{ Answer string }
		failOnError(t, json.Unmarshal(body, &got))
		if text, ok := strings.CutPrefix(got.Answer, "RESULT "); !ok || !q.result.MatchString(text) {
			t.Errorf("%s: %s %s returned\n%s\nwant a match of %q", q.text, q.tool, q.args, got.Answer, q.result)
		}
	}
	t.Logf("%d requests", len(asked))
	for _, q := range readOfficeRequests(t, readSection(a, "state")) {
		code, body := s.callAPI(http.MethodPost, "/api/v1/tools/"+q.tool, map[string]any{"session": "check", "arguments": json.RawMessage(q.args)})
		var got struct{ Text string }
		if code != http.StatusOK || json.Unmarshal(body, &got) != nil || !q.result.MatchString(got.Text) {
			t.Errorf("state of %s: %d %s, want a match of %q", q.text, code, got.Text, q.result)
		}
	}
	for line := range strings.Lines(readSection(a, "files")) {
		name, want, _ := strings.Cut(strings.TrimSpace(line), ": ")
		b, err := os.ReadFile(filepath.Join(home, name))
		if err != nil || !regexp.MustCompile(want).Match(b) {
			t.Errorf("%s: %.300q (%v), want a match of %q", name, b, err, want)
		}
	}
	var sent []string
	for _, m := range post.Mails() {
		sent = append(sent, m.Mail)
	}
	for line := range strings.Lines(readSection(a, "sent")) {
		if want := strings.TrimSpace(line); !regexp.MustCompile("(?s)" + want).MatchString(strings.Join(sent, "\n")) {
			t.Errorf("no sent mail matches %q in\n%.2000s", want, sent)
		}
	}
}

// readOfficeRequests reads lines of the form SESSION | MESSAGE | TOOL ARGUMENTS | PATTERN.
func readOfficeRequests(t *testing.T, text string) (out []officeRequest) {
	t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.SplitN(line, " | ", 4)
		if len(cells) != 4 {
			t.Fatalf("%q has not four cells", line)
		}
		tool, args, _ := strings.Cut(cells[2], " ")
		if args == "" {
			args = "{}"
		}
		out = append(out, officeRequest{cells[0], cells[1], tool, args, regexp.MustCompile("(?s)" + cells[3])})
	}
	return out
}
