package mail

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hob/platform/pim"
	"hob/platform/pim/netaccount"
	"hob/platform/pim/pimtest"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/store/storetest"
	"hob/tools"
)

// ruleFixture is a mailbox on Dovecot whose rules are running.
type ruleFixture struct {
	t      *testing.T
	server *pimtest.Dovecot
	st     *store.Store
	by     map[string]tools.Tool
	stop   func()
	paused atomic.Bool
	looked chan struct{} // receives a value when the rules have found the pause
}

func startRules(t *testing.T) *ruleFixture {
	t.Helper()
	st, err := storetest.Open(t.Context(), filepath.Join(t.TempDir(), "hob.db"), Migrations(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	f := &ruleFixture{t: t, server: pimtest.StartDovecot(t, ""), st: st, by: map[string]tools.Tool{}, looked: make(chan struct{}, 100)}
	f.startRules()
	return f
}

// startRules starts the rules, as a start of Hob does.
func (f *ruleFixture) startRules() {
	accounts := func() []pim.Account { return []pim.Account{f.server.Account("tester")} }
	rules := NewRules(RulesOptions{Store: f.st, Accounts: accounts})
	for _, x := range Tools(Deps{Accounts: accounts, Rules: rules}) {
		f.by[x.Spec().Name] = x
	}
	ctx, cancel := context.WithCancel(f.t.Context())
	done := make(chan error, 1)
	pause := func(context.Context) (time.Time, bool, error) {
		on := f.paused.Load()
		if on {
			select {
			case f.looked <- struct{}{}:
			default:
			}
		}
		return time.Now().Add(50 * time.Millisecond), on, nil
	}
	go func() { done <- rules.Run(ctx, pause) }()
	f.stop = func() {
		f.t.Helper()
		cancel()
		if err := <-done; err != nil {
			f.t.Error(err)
		}
	}
}

// callTool runs an own tool in a transaction, as the engine does.
func (f *ruleFixture) callTool(tool, args string) (r tools.Result, err error) {
	f.t.Helper()
	c := tools.Call{ID: "c" + args, Args: json.RawMessage(args), Now: time.Now(), Provenance: provenance.Owner}
	x := f.by[tool]
	own, ok := x.(tools.TxTool)
	if !ok {
		return x.Call(f.t.Context(), c)
	}
	if p, ok := x.(tools.Preparer); ok {
		if c.Prepared, err = p.Prepare(f.t.Context(), c); err != nil {
			return r, err
		}
	}
	err = f.st.Write(f.t.Context(), func(tx *store.Tx) error {
		r, err = own.CallTx(f.t.Context(), tx, c)
		return err
	})
	return r, err
}

func (f *ruleFixture) undoCall(tool string, r tools.Result) (said string, err error) {
	f.t.Helper()
	err = f.st.Write(f.t.Context(), func(tx *store.Tx) error {
		said, err = f.by[tool].(tools.Undoer).UndoTx(f.t.Context(), tx, r.Undo.Data)
		return err
	})
	return said, err
}

func (f *ruleFixture) deliverMail(from, subject string, head ...string) {
	f.t.Helper()
	f.server.Deliver("tester", "INBOX", mailOf("Text", append(head, "From: "+from, "Subject: "+subject)...), time.Now())
}

// awaitSubjects waits until a folder contains exactly these subjects, newest first.
func (f *ruleFixture) awaitSubjects(folder string, want ...string) []pim.Message {
	f.t.Helper()
	box := netaccount.NewMail(f.server.Account("tester"))
	deadline := time.Now().Add(60 * time.Second)
	for {
		list, err := box.FindMail(f.t.Context(), pim.MailQuery{Folder: folder})
		var got []string
		for _, m := range list {
			got = append(got, m.Subject)
		}
		if err == nil && strings.Join(got, ", ") == strings.Join(want, ", ") {
			return list
		}
		if time.Now().After(deadline) {
			f.t.Fatalf("%s contains %q, want %q (%v)", folder, got, want, err)
		}
		<-time.After(50 * time.Millisecond)
	}
}

// The rules act on arriving emails, immediately, after a restart, and only on new ones.
func TestRules_ActOnArrivingEmails(t *testing.T) {
	f := startRules(t)
	for _, folder := range []string{"Archive", "Bills", "Trash"} {
		f.server.Create("tester", folder)
	}
	f.server.Deliver("tester", "INBOX", mailOf("Text", "From: Shop <news@shop.example>", "Subject: old sale"), time.Now().Add(-time.Hour))
	r, err := f.callTool("create_email_rule", `{"from":"shop.example"}`)
	if err != nil || r.Text != "From now on, for arriving emails from shop.example: move to archive." || r.Source != provenance.Tool || r.Undo == nil {
		t.Fatalf("create_email_rule = %+v, %v", r, err)
	}
	bills, err := f.callTool("create_email_rule", `{"subject":"invoice","action":"Bills"}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{`{"from":"Ada","action":"flag"}`, `{"list":"<dev.example.org>","action":"mark_read","account":"WORK"}`} {
		if _, err := f.callTool("create_email_rule", args); err != nil {
			t.Fatal(err)
		}
	}
	f.deliverMail("Shop <news@shop.example>", "new sale", "Message-ID: <s1@x>")
	f.deliverMail("Evil <x@notshop.example>", "other sale")
	f.awaitSubjects("Archive", "new sale")
	f.deliverMail("Ada <ada@example.org>", "Your Invoice")
	f.awaitSubjects("Bills", "Your Invoice")
	f.deliverMail("Ada <ada@example.org>", "Hello")
	f.deliverMail("Bob <bob@example.org>", "Patch", "List-Id: Developers <dev.example.org>")
	f.stop()
	f.deliverMail("Shop <news@shop.example>", "while Hob was off", "Message-ID: <s2@x>")
	f.startRules()
	f.awaitSubjects("Archive", "while Hob was off", "new sale")
	list := f.awaitSubjects("", "Patch", "Hello", "other sale", "old sale")
	if !list[0].Seen || list[0].Flagged || list[1].Seen || !list[1].Flagged || list[2].Seen || list[2].Flagged {
		t.Errorf("inbox = %+v", list)
	}
	if flagged := f.awaitSubjects("Bills", "Your Invoice")[0]; !flagged.Flagged { // both rules matched
		t.Errorf("%+v", flagged)
	}
	t.Run("an email that the user moves back stays", func(t *testing.T) {
		box := netaccount.NewMail(f.server.Account("tester"))
		if _, err := box.MoveMail(t.Context(), f.awaitSubjects("Archive", "while Hob was off", "new sale")[1].Ref, "inbox"); err != nil {
			t.Fatal(err)
		}
		f.deliverMail("Shop <news@shop.example>", "third", "Message-ID: <s3@x>")
		f.awaitSubjects("Archive", "third", "while Hob was off")
		f.awaitSubjects("", "new sale", "Patch", "Hello", "other sale", "old sale")
	})
	r, err = f.callTool("list_email_rules", `{}`)
	if err != nil || r.Source != provenance.Outside || !strings.Contains(r.Text, "- emails from shop.example: move to archive (r") || !strings.Contains(r.Text, ", applied 3 times\n  - Shop <news@shop.example>: third, today at ") {
		t.Errorf("list_email_rules = %s, %v", r.Text, err)
	}
	if said, err := f.undoCall("create_email_rule", bills); err != nil || !strings.HasPrefix(said, "Removed the rule.") {
		t.Errorf("undo = %q, %v", said, err)
	}
	if _, err := f.undoCall("create_email_rule", bills); tools.CodeOf(err) != tools.NotFound {
		t.Error(err)
	}
	removed, err := f.callTool("remove_email_rule", `{"rule":"shop.example"}`)
	if err != nil {
		t.Fatal(err)
	}
	f.deliverMail("Shop <news@shop.example>", "invoice without a rule", "Message-ID: <s4@x>")
	f.deliverMail("Ada <ada@example.org>", "Hello again")
	for list := []pim.Message(nil); len(list) == 0 || !list[0].Flagged; { // the other rules have passed both
		<-time.After(50 * time.Millisecond)
		list = f.awaitSubjects("", "Hello again", "invoice without a rule", "new sale", "Patch", "Hello", "other sale", "old sale")
	}
	if _, err := f.undoCall("remove_email_rule", removed); err != nil {
		t.Error(err)
	}
	if _, err := f.undoCall("remove_email_rule", removed); tools.CodeOf(err) != tools.Conflict {
		t.Errorf("restored twice: %v", err)
	}
	f.deliverMail("Shop <news@shop.example>", "with the rule again", "Message-ID: <s5@x>")
	f.awaitSubjects("Archive", "with the rule again", "third", "while Hob was off")
	f.awaitSubjects("", "Hello again", "invoice without a rule", "new sale", "Patch", "Hello", "other sale", "old sale")
	f.stop()
}

// During a pause, arriving emails stay where they are. The rules act on them when it ends.
func TestRules_WaitForTheEndOfAPause(t *testing.T) {
	f := startRules(t)
	f.server.Create("tester", "Archive")
	if _, err := f.callTool("create_email_rule", `{"from":"shop.example"}`); err != nil {
		t.Fatal(err)
	}
	f.deliverMail("Shop <news@shop.example>", "before", "Message-ID: <p1@x>")
	f.awaitSubjects("Archive", "before")
	f.paused.Store(true)
	f.deliverMail("Shop <news@shop.example>", "in the pause", "Message-ID: <p2@x>")
	<-f.looked
	<-f.looked // the rules know of the email, and still wait
	f.awaitSubjects("", "in the pause")
	f.awaitSubjects("Archive", "before")
	f.paused.Store(false)
	f.awaitSubjects("Archive", "in the pause", "before")
	f.stop()
}

// A rule whose folder was deleted leaves emails in the inbox, and says so.
func TestRules_ReportErrors(t *testing.T) {
	f := startRules(t)
	f.server.Create("tester", "Bills")
	if _, err := f.callTool("create_email_rule", `{"subject":"bill","action":"Bills"}`); err != nil {
		t.Fatal(err)
	}
	if err := f.st.Write(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE mail_rules SET folder = 'Gone'`)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	f.stop()
	f.deliverMail("x@example.org", "a bill")
	f.startRules()
	for range 200 {
		r, err := f.callTool("list_email_rules", `{}`)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(r.Text, `Not working: account "work": no such folder`) || strings.Contains(r.Text, "Not working: ") && strings.Contains(r.Text, "Gone") {
			f.stop()
			f.awaitSubjects("", "a bill")
			return
		}
		<-time.After(50 * time.Millisecond)
	}
	t.Error("the rule reports no error")
}

func TestRules_RejectBadInput(t *testing.T) {
	f := startRules(t)
	defer f.stop()
	if _, err := f.callTool("create_email_rule", `{"from":"ada@example.org"}`); err != nil {
		t.Fatal(err)
	}
	for args, code := range map[string]tools.Code{
		`{}`: tools.InvalidArguments, `{"from":" "}`: tools.InvalidArguments, `{"from":"@"}`: tools.InvalidArguments, `{"subject":"x","action":"INBOX"}`: tools.InvalidArguments,
		`{"from":"x.example","action":"Nowhere"}`: tools.Failed, `{"from":"x.example","account":"other"}`: tools.NotFound, `{"from":"ada@example.org","action":"archive"}`: tools.Conflict,
		`{"from":"` + strings.Repeat("x", 300) + `"}`: tools.InvalidArguments,
	} {
		if _, err := f.callTool("create_email_rule", args); tools.CodeOf(err) != code {
			t.Errorf("create_email_rule %s = %v (%s), want %s", args, err, tools.CodeOf(err), code)
		}
	}
	if _, err := f.callTool("remove_email_rule", `{"rule":"zebra"}`); tools.CodeOf(err) != tools.NotFound {
		t.Error(err)
	}
}
