package all_test

import (
	"context"
	"regexp"
	"testing"

	"hob/platform/pim"
	"hob/platform/pim/all"
)

// TestConformance checks each kind against the contract of pim.AccountKind.
func TestConformance(t *testing.T) {
	seen := map[string]bool{"address": true, "user": true, "password": true, "auth": true, "ca": true}
	key := regexp.MustCompile(`^[a-z]+$`)
	for _, k := range all.Kinds() {
		d := k.Describe()
		t.Run(d.Key, func(t *testing.T) {
			if !key.MatchString(d.Key) || seen[d.Key] {
				t.Errorf("the key %q is taken or not a word in small letters", d.Key)
			}
			seen[d.Key] = true
			for field, text := range map[string]string{"Label": d.Label, "Flag": d.Flag, "Question": d.Question, "Help": d.Help} {
				if text == "" || text != pim.SanitizeLine(text, 400) {
					t.Errorf("%s = %q, want a line of text", field, text)
				}
			}
			if d.Check == nil {
				t.Fatal("Check is missing")
			}
			if d.Check("a b\x1b") == nil {
				t.Error("Check accepts a server with a control character")
			}
			for _, s := range d.Announced {
				if err := d.Check(s.Prefix + "mail.example.org:993" + s.Suffix); s.Service == "" || err != nil {
					t.Errorf("Check rejects the announced service %q: %v", s.Service, err)
				}
			}
			testUnreachable(t, k, d)
		})
	}
}

// testUnreachable tests an account without a server, and one whose server does not answer.
func testUnreachable(t *testing.T, k pim.AccountKind, d pim.AccountDescription) {
	t.Helper()
	a := pim.Account{Name: "x", User: "ada", Secret: func(context.Context) (string, error) { return "secret", nil }}
	if _, err := k.Test(t.Context(), a); err == nil {
		t.Error("Test reports success for an account without a server")
	}
	prefix, suffix := "https://", "/"
	if len(d.Announced) > 0 {
		prefix, suffix = d.Announced[0].Prefix, d.Announced[0].Suffix
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := k.Test(ctx, a.With(d.Key, prefix+"127.0.0.1:1"+suffix)); err == nil {
		t.Error("Test reports success after its context has ended")
	}
}
