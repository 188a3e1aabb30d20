package mcp

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hob/platform/text/credential"
	"hob/platform/text/textnorm"
)

// Limits of a form.
const (
	maxAsked  = 300 // characters of a question, which approval requests show in full
	maxFields = 20
	maxField  = 200  // characters of the texts of a field
	maxURL    = 1500 // bytes of an address
)

// form is one request of a server: values to enter, or an address to open.
type form struct {
	key      string // key of the request in a result; "" in revision 2025-11-25
	digest   string
	message  string
	fields   []formField // sorted by name
	schema   *jsonschema.Resolved
	url      string
	hostText string // description of the host of url and of its relation to the server
}

type formField struct {
	name, text string
	required   bool
}

// readForm checks a request of the server. It returns an error that names the reason if Hob refuses
// the request.
func (s *server) readForm(key string, p *mcp.ElicitParams) (form, error) {
	if p == nil {
		return form{}, errors.New("the question is empty")
	}
	f := form{key: cutText(key, 64), message: visibleLine(p.Message)}
	switch n := utf8.RuneCountInString(f.message); {
	case n == 0:
		return form{}, errors.New("the question is empty")
	case n > maxAsked:
		return form{}, fmt.Errorf("the question has %d characters, at most %d are allowed", n, maxAsked)
	}
	raw, err := json.Marshal(p.RequestedSchema)
	if err != nil || len(raw) > maxSchema {
		return form{}, errors.New("its schema is invalid or too large")
	}
	switch mode := modeOf(p); mode {
	case "form":
		err = f.readSchema(raw)
	case "url":
		f.url = p.URL
		f.hostText, err = s.checkOpenURL(p.URL)
	default:
		err = fmt.Errorf("the mode %q is unknown", cutText(mode, 20))
	}
	if err != nil {
		return form{}, err
	}
	h := sha256.New()
	for _, part := range []string{modeOf(p), p.Message, string(raw), p.URL} { // raw has sorted keys, so the digest is stable
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	f.digest = hex.EncodeToString(h.Sum(nil))
	return f, nil
}

// visibleLine returns a server's text on one line, without invisible characters.
func visibleLine(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r) || r == utf8.RuneError:
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// readSchema reads the fields. The protocol allows only flat schemas.
func (f *form) readSchema(raw json.RawMessage) error {
	var in struct {
		Type       string                     `json:"type"`
		Required   []string                   `json:"required"`
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if bytes.Equal(raw, []byte("null")) {
		raw = json.RawMessage(`{"type":"object"}`)
	}
	if json.Unmarshal(raw, &in) != nil || in.Type != "object" || len(in.Properties) > maxFields {
		return fmt.Errorf("its schema must describe an object of at most %d values", maxFields)
	}
	if word := secretWord(f.message); word != "" {
		return secretError(word)
	}
	for _, name := range slices.Sorted(maps.Keys(in.Properties)) {
		field, err := readField(name, in.Properties[name])
		if err != nil {
			return err
		}
		field.required = slices.Contains(in.Required, name)
		f.fields = append(f.fields, field)
	}
	var schema jsonschema.Schema
	if json.Unmarshal(raw, &schema) != nil || !hasBoundedRefs(raw) {
		return errors.New("its schema is invalid")
	}
	var err error
	if f.schema, err = schema.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true}); err != nil {
		return errors.New("its schema is invalid")
	}
	return nil
}

// choice is a value to choose and its title.
type choice struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

// readField describes one field, and refuses fields for secrets.
func readField(name string, raw json.RawMessage) (formField, error) {
	var in struct {
		Type        string          `json:"type"`
		Title       string          `json:"title"`
		Description string          `json:"description"`
		Format      string          `json:"format"`
		Default     json.RawMessage `json:"default"`
		Enum        []string        `json:"enum"`
		OneOf       []choice        `json:"oneOf"`
		Items       struct {
			Enum  []string `json:"enum"`
			AnyOf []choice `json:"anyOf"`
		} `json:"items"`
	}
	kind := map[string]string{"string": "text", "number": "number", "integer": "whole number", "boolean": "true or false", "array": "list of choices"}
	if !validTool(name) || json.Unmarshal(raw, &in) != nil || kind[in.Type] == "" {
		return formField{}, fmt.Errorf("its field %q is not a text, number, boolean or choice", cutText(name, 64))
	}
	for _, text := range []string{name, in.Title, in.Description, in.Format} {
		if word := secretWord(text); word != "" {
			return formField{}, secretError(word)
		}
	}
	text := kind[in.Type]
	choices := append(slices.Clone(in.Enum), in.Items.Enum...)
	for _, c := range append(slices.Clone(in.OneOf), in.Items.AnyOf...) {
		choices = append(choices, c.Const+" ("+c.Title+")")
	}
	if len(choices) > 0 {
		text += ", one of: " + textnorm.Ellipsize(visibleLine(strings.Join(choices, ", ")), 4*maxField)
	}
	if len(in.Default) > 0 {
		text += ", default " + textnorm.Ellipsize(visibleLine(string(in.Default)), maxField)
	}
	if about := visibleLine(in.Title + " " + in.Description); about != "" {
		text += fmt.Sprintf(", %q", textnorm.Ellipsize(about, maxField))
	}
	return formField{name: name, text: text}, nil
}

// secretStems are words for secrets. secretWord also finds them with other characters between their
// letters.
var secretStems = []string{"password", "passwort", "passwd", "passphrase", "passcode", "kennwort", "motdepasse", "contrasena", "wachtwoord", "apikey", "secretkey", "privatekey", "seedphrase", "recoveryphrase", "accesstoken", "onetimecode", "creditcard", "debitcard", "cardnumber", "socialsecurity"}

// lookAlikes are the letters that other characters imitate.
var lookAlikes = strings.NewReplacer("0", "o", "1", "l", "3", "e", "4", "a", "@", "a", "5", "s", "$", "s", "а", "a", "е", "e", "о", "o", "р", "p", "с", "c", "ѕ", "s", "ԁ", "d", "ո", "n", "і", "i", "ј", "j", "у", "y", "х", "x", "ω", "w", "ο", "o", "α", "a", "ρ", "p", "ѡ", "w")

// secretWord returns a word of the text that asks for a secret, or "".
func secretWord(text string) string {
	if word := credential.RequestedIn(visibleLine(text)); word != "" {
		return word
	}
	letters := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return r
		}
		return -1
	}, lookAlikes.Replace(textnorm.Fold(text)))
	for _, stem := range secretStems {
		if strings.Contains(letters, stem) || strings.Contains(letters, strings.ReplaceAll(stem, "l", "i")) {
			return stem
		}
	}
	return ""
}

func secretError(word string) error {
	return fmt.Errorf("it asks for a secret (%q), which Hob never sends to a server", cutText(word, 40))
}

// checkOpenURL checks an address that the user is asked to open. It returns a description of the
// host for the user.
func (s *server) checkOpenURL(raw string) (string, error) {
	u, err := url.Parse(raw)
	odd := func(r rune) bool { return r <= ' ' || r > '~' || r == '\\' }
	if err != nil || len(raw) > maxURL || strings.ContainsFunc(raw, odd) || u.Hostname() == "" || u.Opaque != "" {
		return "", errors.New("its address is invalid, too long, or contains misleading characters")
	}
	own, _ := url.Parse(s.cfg.URL)
	host := strings.ToLower(u.Hostname())
	isOwn := own != nil && host == strings.ToLower(own.Hostname())
	isLocal := func(h string) bool { return h == "localhost" || h == "127.0.0.1" || h == "::1" }
	mayBeLocal := s.cfg.Command != "" || own != nil && isLocal(own.Hostname())
	_, ipErr := netip.ParseAddr(host)
	last := host[strings.LastIndex(host, ".")+1:] // browsers read a host that ends with a number as an address
	isNumber := ipErr == nil || strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x")
	switch {
	case u.User != nil:
		return "", errors.New("its address contains a user name before the host, which can mislead")
	case isLocal(host) && mayBeLocal && (u.Scheme == "http" || u.Scheme == "https"):
		return "host " + u.Host + ", this computer", nil
	case u.Scheme != "https":
		return "", errors.New("its address does not begin with https://")
	case isNumber && !isOwn || host == "localhost" || strings.HasSuffix(host, ".localhost") || strings.HasSuffix(host, ".local") || strings.HasSuffix(host, ".internal") || !strings.Contains(host, ".") && !isOwn:
		return "", errors.New("its address has a number as host or is in your network")
	}
	text := "host " + u.Host
	switch {
	case isOwn:
		text += ", the host of the server"
	case own != nil && own.Host != "":
		text += ", not the host of the server, " + own.Host
	}
	if strings.Contains(host, "xn--") {
		text += "; xn-- stands for letters that can imitate another name"
	}
	return text, nil
}

// completeAnswers checks the answers and adds the server's default values (SEP-1034). added lists
// these defaults.
func (f form) completeAnswers(answers map[string]any) (full map[string]any, added []string, err error) {
	if f.url != "" {
		return nil, nil, nil
	}
	full = map[string]any{}
	for name, v := range answers {
		if !slices.ContainsFunc(f.fields, func(x formField) bool { return x.name == name }) {
			return nil, nil, fmt.Errorf("the question has no field %q", name)
		}
		if v != nil {
			full[name] = v
		}
	}
	if err := f.schema.ApplyDefaults(&full); err != nil {
		return nil, nil, fmt.Errorf("the default values do not fit: %w", err)
	}
	if err := f.schema.Validate(full); err != nil {
		return nil, nil, fmt.Errorf("the answers do not fit the question: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(full)) {
		if answers[name] == nil {
			b, err := json.Marshal(full[name])
			if err != nil {
				return nil, nil, err
			}
			added = append(added, name+" = "+visibleLine(string(b)))
		}
	}
	return full, added, nil
}

// describeForm returns the request in text for a model. named is true if there are several
// requests, so that the text must name each of them.
func (f form) describeForm(named bool) string {
	var b strings.Builder
	if named && f.key != "" {
		fmt.Fprintf(&b, "Question %q: ", f.key)
	}
	fmt.Fprintf(&b, "It asks: %q\n", f.message)
	if f.url != "" {
		fmt.Fprintf(&b, "It wants the user to open %s (%s)\n", f.url, f.hostText)
	}
	for _, x := range f.fields {
		required := ""
		if x.required {
			required = ", required"
		}
		fmt.Fprintf(&b, "- %s: %s%s\n", x.name, x.text, required)
	}
	return b.String()
}
