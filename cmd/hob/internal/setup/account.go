package setup

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hob/autonomy/account"
	"hob/autonomy/config"
	"hob/platform/host/system"
	"hob/platform/pim"
	pimall "hob/platform/pim/all"
	"hob/platform/pim/signin"
)

// serverQuestionKeys lists the questions about an account's servers.
func serverQuestionKeys() []string { return append([]string{"mail", "servers"}, pimall.Keys()...) }

// areServersGiven reports whether the user answered the questions about servers.
func areServersGiven(a Answers) bool { return a.isGiven(pimall.Keys()[0]) }

// givenServers returns the servers that the user entered.
func givenServers(a Answers) pim.Servers {
	out := pim.Servers{}
	for _, kind := range pimall.Keys() {
		if a[kind] != "" {
			out[kind] = a[kind]
		}
	}
	return out
}

// accountStep returns the step that asks for an account with email and calendars, and signs in to
// it.
func accountStep() Step {
	return Step{
		Name: "account", Title: "Mail and calendars", Keys: append(serverQuestionKeys(), "mail_user", "mail_password"),
		About: "Hob can then notify you about email and meetings, and send email and book events when you ask.",
		Next:  nextOfAccount, Apply: applyAccount,
	}
}

func nextOfAccount(ctx context.Context, o Options, a Answers) ([]Question, error) {
	if !a.isGiven("mail") {
		q := Question{Key: "mail", Kind: Text, Title: "What is your email address?", About: "Leave it empty to skip this."}
		for i, x := range o.Config.Accounts {
			q.About += map[bool]string{true: " Existing accounts: ", false: ", "}[i == 0] + x.Name
		}
		return []Question{q}, nil
	}
	if a["mail"] == "" {
		return nil, nil
	}
	if !a.isGiven("servers") && !areServersGiven(a) { // the DNS lookup failed before; try it again
		delete(a, shown)
	}
	found, err := o.foundFor(ctx, a)
	if err != nil {
		return nil, newProblem(err, false, "mail")
	}
	if !a.isGiven("servers") && found.Known() {
		return []Question{askFound(found)}, nil
	}
	if a["servers"] != "found" && !areServersGiven(a) {
		return askServers(), nil
	}
	if a["servers"] != "found" && len(givenServers(a)) == 0 {
		return nil, newProblem(errors.New("no server given; enter at least one"), false, serverQuestionKeys()...)
	}
	if !a.isGiven("mail_password") {
		return []Question{{
			Key: "mail_password", Kind: Secret, Title: "What is the password?",
			About: cmp.Or(found.Hint, "Many providers require an app password; create it in your account's security settings.") + " Your input is not shown.",
			Check: func(s string) error {
				if s == "" {
					return errors.New("password is empty; enter the password of the account")
				}
				return nil
			},
		}}, nil
	}
	return nil, nil
}

// shown is the key of the answer that records which servers the user saw.
const shown = "servers_shown"

// foundFor returns the servers for the address as they were first shown. A later DNS answer must
// not redirect the password to other servers.
func (o Options) foundFor(ctx context.Context, a Answers) (found signin.Found, err error) {
	if was, ok := a[shown]; ok {
		return found, json.Unmarshal([]byte(was), &found)
	}
	if found, err = signin.Find(ctx, a["mail"], o.DNS); err != nil {
		return found, err
	}
	b, err := json.Marshal(found)
	a[shown] = string(b)
	return found, err
}

// askFound returns the question that shows the servers that were found and asks whether they are
// correct.
func askFound(s signin.Found) Question {
	q := Question{
		Key: "servers", Kind: Choice, Title: "Are these your servers?", Default: "found",
		Options: []Option{{"found", "yes, use them"}, {"named", "no, enter them"}},
	}
	var lines []string
	for _, d := range pimall.Descriptions() {
		if server := s.Servers[d.Key]; server != "" {
			lines = append(lines, d.Label+": "+server)
		}
	}
	if s.Foreign != "" {
		q.Default = "named"
		lines = append(lines, "The domain of the address points to "+s.Foreign+", which is another domain. Use it only if it belongs to your provider.")
	}
	q.About = strings.Join(lines, "\n")
	return q
}

func askServers() (out []Question) {
	for _, d := range pimall.Descriptions() {
		out = append(out, Question{Key: d.Key, Kind: Text, Title: d.Question, About: "Leave it empty if there is none."})
	}
	return append(out, Question{Key: "mail_user", Kind: Text, Title: "What is the user name?", About: "Leave it empty to use the email address."})
}

// signIn returns the account in the answers with its servers, and a hint for the user. It does not
// sign in.
func signIn(ctx context.Context, o Options, a Answers) (*account.New, string, error) {
	found, err := o.foundFor(ctx, a)
	if err != nil {
		return nil, "", newProblem(err, false, "mail")
	}
	n := &account.New{Account: config.Account{Account: pim.Account{
		Name: account.Name(a["mail"], found.Provider, o.Config.Accounts), Address: a["mail"], User: a["mail_user"],
		Servers: givenServers(a),
	}}}
	if a["servers"] != "found" { // send the password only to servers that the user entered
		found = signin.Found{Provider: found.Provider, Hint: found.Hint}
	}
	n.Fill(found)
	return n, found.Hint, nil
}

func applyAccount(ctx context.Context, o Options, a Answers) (d StepResult, err error) {
	if a["mail"] == "" {
		return d, nil
	}
	n, hint, err := signIn(ctx, o, a)
	if err != nil {
		return d, err
	}
	secret, ref, kept, err := o.secretOf(ctx, a["mail_password"], account.SecretName(n.Name), "")
	if err != nil {
		return d, newProblem(err, false, "mail_password")
	}
	if a[untested] == "" {
		o.showBusy("Signing in ...")
		said, unknown, err := n.TryTrusting(ctx, o.Paths, secret, Items(a[trustedCertificates]))
		if len(unknown) > 0 {
			return d, newTrustProblem(unknown)
		}
		if err != nil {
			// Also ask for the servers again. Otherwise the user would have to start over to
			// correct them.
			return d, newProblem(fmt.Errorf("%w; %s", err, account.Remedy(err, hint)), true, append(serverQuestionKeys(), "mail_user", "mail_password")...)
		}
		d.Said = said
	}
	d.Secrets = kept
	d.Values, err = n.Keep(ctx, o.Secrets, ref)
	return d, err
}

// trustedCertificates is the key of the answer that lists the fingerprints that the user trusts.
const trustedCertificates = "mail_certificates"

// newTrustProblem returns the problem that no known authority signed the certificates of the servers.
// The user may trust them without repeating an answer.
func newTrustProblem(list []account.Certificate) error {
	lines, prints := []string{"no known authority signed the certificates of the servers"}, []string{}
	for _, c := range list {
		lines = append(lines, c.Describe())
		prints = append(prints, c.Fingerprint())
	}
	return &Problem{
		Err: errors.New(strings.Join(lines, "\n")), Keys: append(serverQuestionKeys(), "mail_user", "mail_password"),
		Offer: &Offer{Title: "trust these certificates; the servers are mine or my company's", Key: trustedCertificates, Value: strings.Join(prints, ",")},
	}
}

// completeAccounts completes the account sections in an answers file: it finds the servers for an
// address without servers, and stores the passwords.
func (o Options) completeAccounts(ctx context.Context, all map[string]any) (kept []StoredSecret, err error) {
	list, _ := all["accounts"].(map[string]any)
	for name, v := range list {
		keys, ok := v.(map[string]any)
		if !ok {
			continue
		}
		text := func(key string) string { s, _ := keys[key].(string); return s }
		named := slices.ContainsFunc(pimall.Keys(), func(kind string) bool { return text(kind) != "" })
		if !named && text("address") != "" {
			found, err := signin.Find(ctx, text("address"), o.DNS)
			switch {
			case err != nil:
				return nil, fmt.Errorf("accounts.%s.address: %w", name, err)
			case !found.Known() || found.Foreign != "":
				return nil, fmt.Errorf("accounts.%s: the servers of %s are unknown; set %s", name, text("address"), pimall.KeyChoice())
			}
			for kind, server := range found.Servers {
				keys[kind] = server
			}
			if found.Auth != "" && text("auth") == "" {
				keys["auth"] = found.Auth
			}
		}
		if secret := text("password"); secret != "" && !system.IsReference(secret) {
			kept = append(kept, StoredSecret{account.SecretName(name), secret})
			keys["password"] = "keychain:" + account.SecretName(name)
			fmt.Fprintf(o.Out, "Stored the password for the account %s; remove it from the answers file.\n", name)
		}
	}
	return kept, nil
}
