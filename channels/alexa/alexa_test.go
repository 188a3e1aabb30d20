package alexa_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hob/channels"
	"hob/channels/alexa"
	"hob/channels/channelstest"
	"hob/platform/net/safehttp/safehttptest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	skill   = "amzn1.ask.skill.1"
	account = "amzn1.ask.account.AB12"
	voice   = "amzn1.ask.person.P1"
	chainAt = "https://s3.amazonaws.com/echo.api/echo-api-cert-13.pem"
)

// requestSigner signs requests like Amazon, with a root, an intermediate and a signer's certificate.
type requestSigner struct {
	t     *testing.T
	root  *x509.Certificate
	roots *x509.CertPool
	keys  [2]*rsa.PrivateKey // keys of the certificate authorities, and of the signer
	now   time.Time

	mu    sync.Mutex
	files map[string][]byte
	told  []string // the progressive responses that were posted to Amazon
	net   *safehttptest.Internet
}

// keys are generated once, because that is slow.
var keys = sync.OnceValue(func() (k [2]*rsa.PrivateKey) {
	for i := range k {
		k[i], _ = rsa.GenerateKey(rand.Reader, 2048)
	}
	return k
})

func newAmazon(t *testing.T) *requestSigner {
	t.Helper()
	a := &requestSigner{t: t, keys: keys(), now: time.Now(), roots: x509.NewCertPool(), files: map[string][]byte{}}
	a.root = a.createCertificate("Root", nil, nil, a.now)
	a.roots.AddCert(a.root)
	a.net = safehttptest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if r.Method == http.MethodPost {
			b, _ := io.ReadAll(r.Body)
			a.told = append(a.told, fmt.Sprintf("%s%s %s %s", r.Host, r.URL.Path, r.Header.Get("Authorization"), b))
			w.WriteHeader(http.StatusNoContent)
			return
		}
		if b, ok := a.files[r.URL.Path]; ok {
			_, _ = w.Write(b)
			return
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	a.serveFile("/echo.api/echo-api-cert-13.pem", a.certificateChain("echo-api.amazon.com", a.now))
	return a
}

var serial = func() func() int64 {
	var mu sync.Mutex
	n := int64(0)
	return func() int64 {
		mu.Lock()
		defer mu.Unlock()
		n++
		return n
	}
}()

// createCertificate creates a certificate that is valid around a time. Without names, it is the
// certificate of an authority.
func (a *requestSigner) createCertificate(name string, names []string, parent *x509.Certificate, at time.Time) *x509.Certificate {
	a.t.Helper()
	c := &x509.Certificate{
		SerialNumber: big.NewInt(serial()), Subject: pkix.Name{CommonName: name}, DNSNames: names,
		NotBefore: at.Add(-time.Hour), NotAfter: at.Add(48 * time.Hour), BasicConstraintsValid: true, IsCA: names == nil,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if parent == nil {
		parent = c
	}
	key := a.keys[0]
	if names != nil {
		key = a.keys[1]
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, a.keys[0])
	if err != nil {
		a.t.Fatal(err)
	}
	out, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return out
}

func (a *requestSigner) certificateChain(name string, at time.Time) []byte {
	between := a.createCertificate("Between", nil, a.root, a.now)
	leaf := a.createCertificate("Signer", []string{name}, between, at)
	return append(inPEM(leaf), inPEM(between)...)
}

func inPEM(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}

func (a *requestSigner) serveFile(path string, b []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.files[path] = b
}

// signRequest returns a request with a body and Amazon's signature.
func (a *requestSigner) signRequest(body string) channels.WebhookRequest {
	a.t.Helper()
	sum := sha256.Sum256([]byte(body))
	sig, err := rsa.SignPKCS1v15(rand.Reader, a.keys[1], crypto.SHA256, sum[:])
	if err != nil {
		a.t.Fatal(err)
	}
	h := http.Header{}
	h.Set("SignatureCertChainUrl", chainAt)
	h.Set("Signature-256", base64.StdEncoding.EncodeToString(sig))
	return channels.WebhookRequest{Header: h, Body: []byte(body)}
}

type alexaRequest struct {
	app, user, person, id, kind, intent, text string
	session, endpoint                         string
	sure                                      int
	at                                        time.Time
}

// buildBody returns a request in Alexa's format.
func (q alexaRequest) buildBody() string {
	type obj = map[string]any
	or := func(s, usual string) string {
		if s == "" {
			return usual
		}
		return s
	}
	app, who := obj{"applicationId": or(q.app, skill)}, obj{"userId": or(q.user, account)}
	system := obj{"application": app, "user": who, "device": obj{"deviceId": "d"}, "apiEndpoint": or(q.endpoint, "https://api.amazonalexa.com"), "apiAccessToken": "t"}
	if q.person != "" {
		system["person"] = obj{"personId": q.person, "authenticationConfidenceLevel": obj{"level": q.sure}}
	}
	if q.at.IsZero() {
		q.at = time.Now()
	}
	r := obj{"type": or(q.kind, "IntentRequest"), "requestId": or(q.id, fmt.Sprintf("amzn1.echo-api.request.%d", serial())), "timestamp": q.at.UTC().Format(time.RFC3339), "locale": "en-US"}
	if r["type"] == "IntentRequest" {
		r["intent"] = obj{"name": or(q.intent, "WordWhatIntent"), "confirmationStatus": "NONE", "slots": obj{"text": obj{"name": "text", "value": q.text}}}
	}
	b, err := json.Marshal(obj{"version": "1.0", "session": obj{"new": true, "sessionId": or(q.session, "s"), "application": app, "user": who}, "context": obj{"System": system}, "request": r})
	if err != nil {
		panic(err) // strings and maps
	}
	return string(b)
}

// recordingInbox is a receiver that answers messages.
type recordingInbox struct {
	channelstest.Inbox
	mu    sync.Mutex
	reply func(event, text string)
}

func (e *recordingInbox) Receive(ctx context.Context, in channels.Inbound) (channels.Accepted, error) {
	acc, err := e.Inbox.Receive(ctx, in)
	e.mu.Lock()
	reply := e.reply
	e.mu.Unlock()
	if err == nil && reply != nil {
		go reply(acc.Event, in.Text)
	}
	return acc, err
}

func openChannel(t *testing.T, a *requestSigner, dir string, wait time.Duration, e channels.Receiver) (*alexa.Channel, func()) {
	t.Helper()
	return openWith(t, a, channels.Deps{Dir: dir}, alexa.Options{Wait: wait}, e)
}

func openWith(t *testing.T, a *requestSigner, d channels.Deps, o alexa.Options, e channels.Receiver) (*alexa.Channel, func()) {
	t.Helper()
	d.Network, o.Roots = a.net.Client(t), a.roots
	ch, err := alexa.New(alexa.Config{Skill: skill, Voices: []string{"", voice}}, d, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- ch.Run(ctx, e) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	for ch.Hook(t.Context(), a.signRequest(alexaRequest{kind: "SessionEndedRequest"}.buildBody())).Status == http.StatusServiceUnavailable {
		time.Sleep(time.Millisecond)
	}
	return ch, stop
}

type spoken struct {
	Version  string
	Response struct {
		OutputSpeech     struct{ Type, SSML string }
		Reprompt         struct{ OutputSpeech struct{ SSML string } }
		ShouldEndSession *bool
	}
}

func askAlexa(t *testing.T, ch *alexa.Channel, a *requestSigner, q alexaRequest) (text string, ends bool) {
	t.Helper()
	p := ch.Hook(t.Context(), a.signRequest(q.buildBody()))
	if p.Status != http.StatusOK {
		t.Fatalf("Hook = %+v", p)
	}
	b, err := json.Marshal(p.Body)
	if err != nil {
		t.Fatal(err)
	}
	var s spoken
	if err := json.Unmarshal(b, &s); err != nil || s.Version != "1.0" {
		t.Fatalf("%s, %v", b, err)
	}
	if s.Response.OutputSpeech.Type != "" && s.Response.OutputSpeech.Type != "SSML" {
		t.Errorf("%s", b)
	}
	text = strings.TrimSuffix(strings.TrimPrefix(s.Response.OutputSpeech.SSML, "<speak>"), "</speak>")
	return text, s.Response.ShouldEndSession != nil && *s.Response.ShouldEndSession
}

const long = 20 * time.Second

func TestAConversation(t *testing.T) {
	a, e := newAmazon(t), &recordingInbox{}
	ch, _ := openChannel(t, a, t.TempDir(), long, e)
	e.reply = func(event, text string) {
		if _, err := ch.Send(t.Context(), channels.Delivery{ID: "d" + event, Event: event, Kind: channels.Reply, Chat: account, Text: "You asked <b>" + text + "</b> & so on"}); err != nil {
			t.Error(err)
		}
	}
	if text, ends := askAlexa(t, ch, a, alexaRequest{kind: "LaunchRequest"}); !strings.HasPrefix(text, "This is Hob") || ends {
		t.Errorf("%q, %v", text, ends)
	}
	if text, ends := askAlexa(t, ch, a, alexaRequest{text: "is on today"}); text != "You asked &lt;b&gt;what is on today&lt;/b&gt; &amp; so on" || ends {
		t.Errorf("%q, %v", text, ends)
	}
	for intent, want := range map[string]string{"WordRemindIntent": "remind x", "AskIntent": "x", "WordIIntent": "I x", "AMAZON.YesIntent": "yes"} {
		if text, _ := askAlexa(t, ch, a, alexaRequest{intent: intent, text: "x"}); !strings.Contains(text, "<b>"+want) && !strings.Contains(text, "&lt;b&gt;"+want+"&") {
			t.Errorf("%s: %q", intent, text)
		}
	}
	for intent, want := range map[string]string{"AMAZON.StopIntent": "Goodbye", "AMAZON.CancelIntent": "Goodbye", "AMAZON.HelpIntent": "Ask me", "AMAZON.FallbackIntent": "did not understand", "SomebodysIntent": "did not understand", "AnswerIntent": "no new answers"} {
		if text, ends := askAlexa(t, ch, a, alexaRequest{intent: intent}); !strings.Contains(text, want) || ends != (want == "Goodbye") {
			t.Errorf("%s: %q, %v", intent, text, ends)
		}
	}
	if text, _ := askAlexa(t, ch, a, alexaRequest{kind: "SessionEndedRequest"}); text != "" {
		t.Errorf("%q", text)
	}
	in := e.Heard()[0]
	if in.Sender != account || in.Chat != account || in.FromOwner || !in.Unknown || in.Key == "" || in.Group {
		t.Errorf("%+v", in)
	}
	askAlexa(t, ch, a, alexaRequest{text: "x", person: voice})
	if heard := e.Heard(); !heard[len(heard)-1].Unknown {
		t.Error("a text without a question may decide requests")
	}
	if n := len(a.net.Heard()); n != 1 {
		t.Errorf("the chain was fetched %d times", n)
	}
}

func TestHook_RejectsOtherCallers(t *testing.T) {
	a, e := newAmazon(t), &recordingInbox{}
	ch, _ := openChannel(t, a, "", long, e)
	other := newAmazon(t)
	other.keys = [2]*rsa.PrivateKey{a.keys[1], a.keys[0]}
	nobody := &requestSigner{t: t, keys: [2]*rsa.PrivateKey{a.keys[1], a.keys[1]}, now: a.now} // signs with Amazon's key, but with its own root certificate
	nobody.root = nobody.createCertificate("Root", nil, nil, a.now)
	with := func(name, value string) channels.WebhookRequest {
		p := a.signRequest(alexaRequest{text: "x"}.buildBody())
		p.Header.Set(name, value)
		return p
	}
	forged := a.signRequest(alexaRequest{text: "x"}.buildBody())
	forged.Body = []byte(strings.Replace(string(forged.Body), `"x"`, `"y"`, 1))
	for path, b := range map[string][]byte{
		"/echo.api/name.pem": a.certificateChain("echo-api.amazon.com.example.com", a.now), "/echo.api/old.pem": a.certificateChain("echo-api.amazon.com", a.now.Add(-72*time.Hour)),
		"/echo.api/soon.pem": a.certificateChain("echo-api.amazon.com", a.now.Add(72*time.Hour)), "/echo.api/root.pem": nobody.certificateChain("echo-api.amazon.com", a.now),
		"/echo.api/text.pem": []byte("hello"), "/echo.api/bad.pem": []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
		"/other/cert.pem": a.certificateChain("echo-api.amazon.com", a.now),
	} {
		a.serveFile(path, b)
	}
	const url = "SignatureCertChainUrl"
	const host = "https://s3.amazonaws.com"
	for name, p := range map[string]channels.WebhookRequest{
		"nothing":                  {Header: http.Header{}, Body: []byte(alexaRequest{text: "x"}.buildBody())},
		"another body":             forged,
		"another key":              other.signRequest(alexaRequest{text: "x"}.buildBody()),
		"Signature-256 is missing": with("Signature-256", ""),
		"a bad one":                with("Signature-256", "!!"),
		"http":                     with(url, "http://s3.amazonaws.com/echo.api/echo-api-cert-13.pem"),
		"another host":             with(url, "https://s3.amazonaws.com.example.com/echo.api/echo-api-cert-13.pem"),
		"a host as user":           with(url, "https://s3.amazonaws.com@example.com/echo.api/echo-api-cert-13.pem"),
		"another path":             with(url, host+"/other/cert.pem"),
		"out of the path":          with(url, host+"/echo.api/../other/cert.pem"),
		"hidden in the path":       with(url, host+"/echo.api/%2e%2e/other/cert.pem"),
		"case of the path":         with(url, host+"/EcHo.aPi/echo-api-cert-13.pem"),
		"another port":             with(url, host+":563/echo.api/echo-api-cert-13.pem"),
		"a query":                  with(url, host+"/echo.api/echo-api-cert-13.pem?x=1"),
		"another name":             with(url, host+"/echo.api/name.pem"),
		"run out":                  with(url, host+"/echo.api/old.pem"),
		"not valid yet":            with(url, host+"/echo.api/soon.pem"),
		"another root":             with(url, host+"/echo.api/root.pem"),
		"no certificate":           with(url, host+"/echo.api/text.pem"),
		"a broken one":             with(url, host+"/echo.api/bad.pem"),
		"none there":               with(url, host+"/echo.api/none.pem"),
		"another skill":            a.signRequest(alexaRequest{app: "amzn1.ask.skill.2", text: "x"}.buildBody()),
		"too old":                  a.signRequest(alexaRequest{text: "x", at: time.Now().Add(-151 * time.Second)}.buildBody()),
		"of the future":            a.signRequest(alexaRequest{text: "x", at: time.Now().Add(160 * time.Second)}.buildBody()),
		"no JSON":                  a.signRequest("hello"),
		"no time":                  a.signRequest(`{"request":{"type":"LaunchRequest"}}`),
	} {
		fresh, err := alexa.New(alexa.Config{Skill: skill}, channels.Deps{Network: a.net.Client(t)}, alexa.Options{Roots: a.roots})
		if err != nil {
			t.Fatal(err)
		}
		if got := fresh.Hook(t.Context(), p); got.Status != http.StatusUnauthorized || got.Error != "" {
			t.Errorf("%s: Hook = %+v", name, got)
		}
	}
	if n := len(e.Heard()); n != 0 {
		t.Errorf("received %d messages, want none", n)
	}
	for _, good := range []string{host + ":443/echo.api/echo-api-cert-13.pem", "HTTPS://S3.AmazonAWS.com/echo.api/../echo.api//echo-api-cert-13.pem"} {
		if got := ch.Hook(t.Context(), withURL(a, good)); got.Status != http.StatusOK {
			t.Errorf("%s: Hook = %+v", good, got)
		}
	}
}

func withURL(a *requestSigner, url string) channels.WebhookRequest {
	p := a.signRequest(alexaRequest{kind: "LaunchRequest"}.buildBody())
	p.Header.Set("SignatureCertChainUrl", url)
	return p
}

// TestHook_LimitsCertificateDownloads: requests without a signature cause only a few downloads of certificates
// and do not block signed requests.
func TestHook_LimitsCertificateDownloads(t *testing.T) {
	a := newAmazon(t)
	ch, _ := openChannel(t, a, "", long, &recordingInbox{})
	for i := range 50 {
		ch.Hook(t.Context(), withURL(a, fmt.Sprintf("https://s3.amazonaws.com/echo.api/%d.pem", i)))
	}
	if n := len(a.net.Heard()); n > 10 {
		t.Errorf("%d downloads", n)
	}
	if text, _ := askAlexa(t, ch, a, alexaRequest{kind: "LaunchRequest"}); text == "" {
		t.Error("a request from Amazon got no answer")
	}
}

// TestLateAnswer_IsSpokenOnce: a late answer is stored, also across restarts, and spoken once, to the
// user who asked.
func TestLateAnswer_IsSpokenOnce(t *testing.T) {
	a, e, dir := newAmazon(t), &recordingInbox{}, filepath.Join(t.TempDir(), "alexa")
	ch, stop := openChannel(t, a, dir, 50*time.Millisecond, e)
	if text, ends := askAlexa(t, ch, a, alexaRequest{text: "is on"}); !strings.Contains(text, "still working on it") || ends {
		t.Fatalf("%q", text)
	}
	if text, _ := askAlexa(t, ch, a, alexaRequest{intent: "AnswerIntent"}); !strings.Contains(text, "still working on it") {
		t.Errorf("%q", text)
	}
	d := channels.Delivery{ID: "d1", Event: "e0001", Kind: channels.Reply, Chat: account, Text: "the dentist"}
	for range 2 {
		if _, err := ch.Send(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	ch, _ = openChannel(t, a, dir, 50*time.Millisecond, e)
	if _, err := ch.Send(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if text, _ := askAlexa(t, ch, a, alexaRequest{intent: "AnswerIntent", user: "amzn1.ask.account.EVE"}); !strings.Contains(text, "no new answers") {
		t.Errorf("another account gets %q", text)
	}
	if text, _ := askAlexa(t, ch, a, alexaRequest{intent: "AnswerIntent"}); text != "the dentist" {
		t.Errorf("%q", text)
	}
	if text, _ := askAlexa(t, ch, a, alexaRequest{intent: "AnswerIntent"}); !strings.Contains(text, "no new answers") {
		t.Errorf("the answer was spoken twice: %q", text)
	}
	for _, kind := range []channels.DeliveryKind{channels.Notice, channels.Send} {
		if _, err := ch.Send(t.Context(), channels.Delivery{ID: "n", Kind: kind, Chat: account, Text: "x"}); channels.ClassOf(err) != channels.Unsupported {
			t.Errorf("%s: Send = %v", kind, err)
		}
	}
}

func joinFields(s string) string { return strings.Join(strings.Fields(s), " ") }

const question = "May I send it? Answer /yes q1 or /no q1."

// TestApproval_AnswersOnlyTheSpokenQuestion: a spoken yes answers only the question that was spoken, and
// only if Alexa is sure that the voice is one that the owner configured.
func TestApproval_AnswersOnlyTheSpokenQuestion(t *testing.T) {
	a, e := newAmazon(t), &recordingInbox{}
	b := &channelstest.Buttons{Owner: account, Question: "q1"}
	dir := t.TempDir()
	ch, stop := openWith(t, a, channels.Deps{Dir: dir, Buttons: b}, alexa.Options{Wait: 50 * time.Millisecond}, e)
	if _, err := ch.Send(t.Context(), channels.Delivery{ID: "d1", Event: "e1", Kind: channels.Question, Chat: account, Text: question}); err != nil {
		t.Fatal(err)
	}
	says := func(what string, q alexaRequest, want string) {
		t.Helper()
		if text, _ := askAlexa(t, ch, a, q); !strings.Contains(joinFields(text), want) {
			t.Errorf("%s: %q, not %q", what, text, want)
		}
	}
	yes := alexaRequest{intent: "AMAZON.YesIntent", person: voice, sure: 300}
	owner := alexaRequest{intent: "AnswerIntent", person: voice, sure: 300}
	says("before it was spoken", yes, "still working on it")
	says("it is spoken", owner, question+" Say yes or no.")
	says("something else is said", alexaRequest{text: "is on"}, "still working on it")
	says("after something else", yes, "still working on it")
	says("it is spoken again", owner, question)
	elsewhere := yes
	elsewhere.session = "t"
	says("in another session", elsewhere, "still working on it")
	for what, q := range map[string]alexaRequest{
		"nobody's voice": {}, "another voice": {person: "amzn1.ask.person.P2", sure: 400}, "a voice like it": {person: voice, sure: 200},
	} {
		q.intent = yes.intent
		says(what, q, "did not recognize your voice")
	}
	stranger := yes
	stranger.user = "amzn1.ask.account.EVE"
	says("another account", stranger, "account is not paired")
	if n := len(b.Pressed()); n != 0 {
		t.Fatalf("%d decisions were accepted, want none", n)
	}
	for _, in := range e.Heard() {
		if !in.Unknown {
			t.Errorf("the message %q may decide requests", in.Text)
		}
	}
	stop()
	ch, _ = openWith(t, a, channels.Deps{Dir: dir, Buttons: b}, alexa.Options{Wait: 50 * time.Millisecond}, e)
	says("after a new start", alexaRequest{kind: "LaunchRequest", person: voice, sure: 300}, question)
	yes.id = "amzn1.echo-api.request.yes"
	says("the yes", yes, "Going on")
	if p := ch.Hook(t.Context(), a.signRequest(yes.buildBody())); p.Status != http.StatusUnauthorized {
		t.Errorf("repeated request = %+v, want 401", p)
	}
	if got := b.Pressed(); len(got) != 1 || !got[0].Yes || got[0].Question != "q1" || got[0].Sender != account || got[0].Shown.IsZero() {
		t.Errorf("Pressed = %+v", got)
	}
	says("it waits no more", owner, "still working on it") // the approved action has no answer yet
}

// TestApproval_AnsweredElsewhereIsSpokenOnce is spoken at most once.
func TestApproval_AnsweredElsewhereIsSpokenOnce(t *testing.T) {
	a := newAmazon(t)
	b := &channelstest.Buttons{Owner: account, Question: "q1"}
	ch, _ := openWith(t, a, channels.Deps{Buttons: b}, alexa.Options{Wait: 50 * time.Millisecond}, &recordingInbox{})
	for i, d := range []channels.Delivery{{Kind: channels.Question, Text: question}, {Kind: channels.Reply, Text: "Something else"}} {
		d.ID, d.Event, d.Chat = fmt.Sprint("d", i), fmt.Sprint("e", i), account
		if _, err := ch.Send(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []string{question + " Say yes or no.", "Something else " + question + " Say yes or no."} {
		if text, _ := askAlexa(t, ch, a, alexaRequest{intent: "AnswerIntent"}); joinFields(text) != want {
			t.Errorf("%d: %q", i, text)
		}
	}
	if _, err := b.Press(t.Context(), channels.ButtonPress{Sender: account, Question: "q1"}); err != nil {
		t.Fatal(err)
	}
	if text, _ := askAlexa(t, ch, a, alexaRequest{intent: "AnswerIntent"}); !strings.Contains(text, "no new answers") {
		t.Errorf("%q", text)
	}
}

// TestHook_SendsAProgressiveResponse: if an answer takes a moment, Hob asks Amazon to say so, and contacts no other
// host.
func TestHook_SendsAProgressiveResponse(t *testing.T) {
	a := newAmazon(t)
	e := &recordingInbox{}
	ch, _ := openWith(t, a, channels.Deps{}, alexa.Options{Wait: 90 * time.Second, Slow: time.Millisecond}, e)
	e.reply = func(event, _ string) {
		for begun := time.Now(); time.Since(begun) < 60*time.Second; time.Sleep(time.Millisecond) {
			a.mu.Lock()
			told := len(a.told)
			a.mu.Unlock()
			if told > 0 {
				break
			}
		}
		if _, err := ch.Send(t.Context(), channels.Delivery{ID: "d", Event: event, Kind: channels.Reply, Chat: account, Text: "the dentist"}); err != nil {
			t.Error(err)
		}
	}
	if text, _ := askAlexa(t, ch, a, alexaRequest{text: "is on", id: "amzn1.echo-api.request.77", endpoint: "https://api.eu.amazonalexa.com"}); text != "the dentist" {
		t.Errorf("%q", text)
	}
	e.mu.Lock()
	e.reply = nil
	e.mu.Unlock()
	for _, endpoint := range []string{
		"http://api.amazonalexa.com", "https://amazonalexa.com.example.com", "https://api.amazonalexa.com:444", "https://x@api.amazonalexa.com",
		"https://api.amazonalexa.com/x", "https://example.com/.amazonalexa.com", "https://example.com?.amazonalexa.com", "https://example.com#.amazonalexa.com", "https://eviamazonalexa.com",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		ch.Hook(ctx, a.signRequest(alexaRequest{text: "is on", endpoint: endpoint}.buildBody()))
		cancel()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	want := `api.eu.amazonalexa.com/v1/directives Bearer t {"directive":{"speech":"\u003cspeak\u003eOne moment.\u003c/speak\u003e","type":"VoicePlayer.Speak"},"header":{"requestId":"amzn1.echo-api.request.77"}}`
	if len(a.told) != 1 || a.told[0] != want {
		t.Errorf("%q", a.told)
	}
}

// TestHook_RepeatedRequestGetsNoAnswer: a repeated request gets no answers.
func TestHook_RepeatedRequestGetsNoAnswer(t *testing.T) {
	a, e := newAmazon(t), &recordingInbox{}
	ch, _ := openChannel(t, a, "", 50*time.Millisecond, e)
	p := a.signRequest(alexaRequest{intent: "AnswerIntent"}.buildBody())
	if got := ch.Hook(t.Context(), p); got.Status != http.StatusOK {
		t.Fatalf("Hook = %+v", got)
	}
	if got := ch.Hook(t.Context(), p); got.Status != http.StatusUnauthorized {
		t.Errorf("Hook = %+v", got)
	}
	p = a.signRequest(alexaRequest{text: "is on"}.buildBody())
	for range 2 {
		if got := ch.Hook(t.Context(), p); got.Status != http.StatusOK {
			t.Errorf("Hook = %+v", got)
		}
	}
	if heard := e.Heard(); heard[0].Key != heard[len(heard)-1].Key {
		t.Errorf("Heard = %+v", heard)
	}
}

// TestSpeech_EscapedTextIsComplete: a text full of markup is spoken completely, although escaping makes it
// longer.
func TestSpeech_EscapedTextIsComplete(t *testing.T) {
	a := newAmazon(t)
	ch, _ := openChannel(t, a, "", 50*time.Millisecond, &recordingInbox{})
	if _, err := ch.Send(t.Context(), channels.Delivery{ID: "d", Event: "e", Kind: channels.Reply, Chat: account, Text: strings.Repeat("a & b's ", 750) + "end"}); err != nil {
		t.Fatal(err)
	}
	first, _ := askAlexa(t, ch, a, alexaRequest{intent: "AnswerIntent"})
	second, _ := askAlexa(t, ch, a, alexaRequest{intent: "AnswerIntent"})
	if n := strings.Count(first+second, "a &amp; b's"); n < 749 || !strings.HasSuffix(second, "end") || !strings.Contains(first, "There is more") || len(first) > 8000 {
		t.Errorf("%d of 750 items, %d and %d characters, %q", n, len(first), len(second), second[max(0, len(second)-40):])
	}
}

func TestSpeech_SplitsLongAnswers(t *testing.T) {
	a := newAmazon(t)
	ch, _ := openChannel(t, a, t.TempDir(), 50*time.Millisecond, &recordingInbox{})
	for i := range 3 {
		if _, err := ch.Send(t.Context(), channels.Delivery{ID: fmt.Sprint(i), Event: "e", Kind: channels.Reply, Chat: account, Text: strings.Repeat(fmt.Sprint(i), 6000)}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3 {
		text, _ := askAlexa(t, ch, a, alexaRequest{intent: "AnswerIntent"})
		if !strings.HasPrefix(text, strings.Repeat(fmt.Sprint(i), 6000)) || len([]rune(text)) > 8000 || strings.Contains(text, "There is more") != (i < 2) {
			t.Errorf("%d: %d characters, %.20q ... %q", i, len(text), text, text[len(text)-40:])
		}
	}
}

func TestPairing(t *testing.T) {
	a, e := newAmazon(t), &recordingInbox{}
	ch, _ := openChannel(t, a, "", 50*time.Millisecond, e)
	for said, want := range map[string]string{
		"two three four five A. hyphen B. C. D. E. F.": "2345ABCDEF", "2345 A B C D E F": "2345ABCDEF", "2345 ABC D E F": "2345ABCDEF", "in my pocket": "in my pocket",
	} {
		askAlexa(t, ch, a, alexaRequest{intent: "CodeIntent", text: said})
		if heard := e.Heard(); heard[len(heard)-1].Text != want {
			t.Errorf("%q is %q", said, heard[len(heard)-1].Text)
		}
	}
	e.Refuse(channels.ErrStranger)
	if text, ends := askAlexa(t, ch, a, alexaRequest{text: "is on"}); !strings.Contains(text, "account is not paired") || !ends {
		t.Errorf("%q, %v", text, ends)
	}
	e.Refuse(fmt.Errorf("the disk is full"))
	if text, _ := askAlexa(t, ch, a, alexaRequest{text: "is on"}); !strings.Contains(text, "could not receive") {
		t.Errorf("%q", text)
	}
}

func TestModel(t *testing.T) {
	b, err := alexa.Model("my hob")
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		InteractionModel struct {
			LanguageModel struct {
				InvocationName string
				Intents        []struct {
					Name    string
					Slots   []struct{ Name, Type string }
					Samples []string
				}
			}
		}
	}
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	names, samples := map[string]bool{}, map[string]bool{}
	for _, i := range m.InteractionModel.LanguageModel.Intents {
		if names[i.Name] {
			t.Errorf("intent %s is defined twice", i.Name)
		}
		names[i.Name] = true
		for _, s := range i.Samples {
			if samples[s] {
				t.Errorf("sample %q belongs to two intents", s)
			}
			samples[s] = true
			// A phrase with an AMAZON.SearchQuery slot needs further words and has no second slot.
			if len(i.Slots) > 0 && (len(i.Slots) > 1 || i.Slots[0].Type != "AMAZON.SearchQuery" || strings.Count(s, "{text}") != 1 || s == "{text}") {
				t.Errorf("%s: %q", i.Name, s)
			}
		}
	}
	const page = "../../docs/alexa-model.json"
	if have, err := os.ReadFile(page); err != nil || !bytes.Equal(have, append(b, '\n')) {
		if os.Getenv("UPDATE_DOCS") != "" {
			err = os.WriteFile(page, append(b, '\n'), 0o644) //nolint:gosec // everyone may read this page
		}
		t.Errorf("%s does not contain this model; run the test with UPDATE_DOCS=1 (%v)", page, err)
	}
	if !names["AMAZON.StopIntent"] || !names["AMAZON.FallbackIntent"] || !names["AskIntent"] {
		t.Errorf("%v", names)
	}
}

func TestConfig(t *testing.T) {
	if _, err := alexa.New(alexa.Config{}, channels.Deps{}, alexa.Options{}); err == nil || !strings.Contains(err.Error(), "skill =") {
		t.Error(err)
	}
}

func FuzzBody(f *testing.F) {
	f.Add(alexaRequest{text: "is on"}.buildBody())
	f.Add(alexaRequest{kind: "LaunchRequest"}.buildBody())
	f.Add(`{"request":{"type":"IntentRequest","intent":{"slots":{"text":null}}}}`)
	f.Add(`null`)
	f.Fuzz(func(t *testing.T, body string) {
		alexa.Understand([]byte(body))
	})
}

func FuzzChain(f *testing.F) {
	f.Add([]byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), chainAt)
	f.Fuzz(func(t *testing.T, b []byte, url string) {
		if at, ok := alexa.ReadChain(b, url); ok && !strings.HasPrefix(at, "https://s3.amazonaws.com/echo.api/") {
			t.Errorf("url %q leads to %q", url, at)
		}
	})
}
