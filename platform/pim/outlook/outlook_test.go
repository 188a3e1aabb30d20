package outlook_test

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"hob/platform/host/osrun"
	"hob/platform/host/osrun/osruntest"
	"hob/platform/pim"
	"hob/platform/pim/outlook"
)

func TestScripts(t *testing.T) { osruntest.Check(t, outlook.Scripts()...) }

// TestLint_DetectsBrokenScripts checks that the linter detects an unbalanced brace in every script.
func TestLint_DetectsBrokenScripts(t *testing.T) {
	for _, s := range outlook.Scripts() {
		s.Text = strings.Replace(s.Text, "{", "", 1)
		if len(osruntest.Lint(s)) == 0 {
			t.Errorf("Lint reports nothing for the broken script %s", s.Name)
		}
	}
}

// TestScripts_FitOnACommandLine checks that the encoded scripts fit into the 32,767 characters of a
// command line (learn.microsoft.com, "CreateProcessW").
func TestScripts_FitOnACommandLine(t *testing.T) {
	for _, s := range outlook.Scripts() {
		if n := len(s.FullText()) * 8 / 3; n > 32_000 {
			t.Errorf("%s: %d characters", s.Name, n)
		}
	}
}

// newScriptedMail returns a Mail whose scripts answer with the text said, and records their input. The
// format is that of ConvertTo-Json in PowerShell 5.1.
func newScriptedMail(said string, given *[]string) *outlook.Mail {
	return outlook.NewMail(osrun.NewScripts(osrun.Options{Output: func(_ context.Context, _ *exec.Cmd, in []byte) ([]byte, error) {
		*given = append(*given, string(in))
		return []byte("a module prints\r\n\n--hob--\n" + said), nil
	}}))
}

func TestMail(t *testing.T) {
	var given []string
	list, err := newScriptedMail(`{"ok":true,"data":{"store":"00FF","seen":50,"total":900,"rows":[{"id":"00AA","subject":"S\u0105skaita","name":"Ada","address":"Ada@Example.org","received":1795680000000,"unread":true,"key":"<a@x>","flagged":false},{"id":"00AB","subject":"Hi","name":"Boss","address":"/O=X/CN=BOSS","received":1795670000000,"unread":false,"key":"","flagged":true}]}}`, &given).FindMail(t.Context(), pim.MailQuery{})
	if err != nil || len(list) != 2 || list[0].Ref != "outlook/mail/00AA/00FF" || list[0].Seen || list[0].ID != "a@x" || list[0].From[0].Address != "ada@example.org" || list[1].From[0].Address != "" || given[0] != `{"folder":"","scan":50}` {
		t.Fatalf("%+v, %v, %s", list, err, given)
	}
	x, err := newScriptedMail(`{"ok":true,"data":{"id":"00AA","subject":"Hi","name":"Ada","address":"ada@x.org","received":1795680000000,"unread":true,"to":[{"name":"Bob","address":"BOB@x.org"}],"files":["a.pdf"],"text":"Hello\u0000","cut":false,"head":"Message-ID: <q@x>\r\nReply-To: r@x.org\r\nReferences: <1@x>\r\n"}}`, &given).ReadMail(t.Context(), list[0].Ref)
	if err != nil || x.Text != "Hello" || x.To[0].Address != "bob@x.org" || x.ID != "q@x" || x.ReplyTo[0].Address != "r@x.org" || len(x.Refers) != 1 || given[1] != `{"id":"00AA","store":"00FF","most":100000}` {
		t.Errorf("%+v, %v, %s", x, err, given[1])
	}
	for _, ref := range []string{"", "00AA/00FF", "outlook/mail/x'/1", "outlook/mail//1"} {
		if _, err := newScriptedMail("", &given).ReadMail(t.Context(), ref); !errors.Is(err, pim.ErrNotFound) {
			t.Errorf("%q: %v", ref, err)
		}
	}
	letter := pim.OutgoingMail{To: []pim.Person{{Address: "ada@example.org"}}, Subject: "'; iex", Text: "é"}
	r, err := newScriptedMail(`{"ok":true,"data":{"id":"","waiting":true}}`, &given).SendMail(t.Context(), letter)
	if err != nil || r.Outcome != pim.Pending || !strings.Contains(r.Why, "outbox") || given[len(given)-1] != `{"how":"send","subject":"'; iex","text":"\u00e9","to":["ada@example.org"],"cc":[],"bcc":[]}` {
		t.Errorf("%+v, %v, %s", r, err, given[len(given)-1])
	}
	for name, c := range map[string]struct {
		said    string
		outcome pim.Outcome
		kind    osrun.Kind
	}{
		// E_ABORT: the user or a policy denied access in the dialog of Outlook's object model
		// guard.
		"the guard":       {`{"ok":false,"number":-2147467260,"began":false}`, "", osrun.Denied},
		"gone meanwhile":  {`{"ok":false,"number":-2147023170,"began":true}`, pim.Uncertain, ""},
		"the new Outlook": {`{"ok":false,"kind":"setup_required","message":"the new Outlook cannot be used by programs"}`, "", osrun.SetupRequired},
		"not there":       {`{"ok":false,"kind":"not_installed"}`, "", osrun.NotInstalled},
	} {
		r, err := newScriptedMail(c.said, &given).SendMail(t.Context(), letter)
		if r.Outcome != c.outcome || osrun.KindOf(err) != c.kind {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	m := newScriptedMail(`{"ok":true,"data":{"id":"00CC","store":"00FF","from":"id:00AA/00FF"}}`, &given)
	r, err = m.MoveMail(t.Context(), list[0].Ref, "archive")
	if err != nil || r.ID != "outlook/mail/00CC/00FF" || m.TakeBack(t.Context(), r.Undo) != nil || given[len(given)-1] != `{"id":"00CC","store":"00FF","target":"id:00AA/00FF"}` {
		t.Errorf("%+v, %v, %s", r, err, given[len(given)-1])
	}
	if err := newScriptedMail(`{"ok":false,"number":-2147023170,"began":true}`, &given).TakeBack(t.Context(), r.Undo); err == nil || !strings.Contains(err.Error(), "undo: outcome unknown") {
		t.Error(err)
	}
}
