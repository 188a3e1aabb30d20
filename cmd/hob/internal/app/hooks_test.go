package app

import (
	"bytes"
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
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hob/channels"
	"hob/channels/alexa"
	"hob/platform/host/system"
	"hob/platform/net/safehttp/safehttptest"
)

// postHook sends a post as a program on another machine does, through a tunnel with its own host name.
func (h *daemonFixture) postHook(path string, body []byte, header map[string]string) (int, string) {
	h.t.Helper()
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		req, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, "http://"+h.d.Addr()+path, bytes.NewReader(body))
		failOnError(h.t, err)
		req.Host = "tunnel.example.org"
		for k, v := range header {
			req.Header.Set(k, v)
		}
		res, err := http.DefaultClient.Do(req)
		failOnError(h.t, err)
		out, err := io.ReadAll(res.Body)
		failOnError(h.t, err)
		_ = res.Body.Close()
		if res.StatusCode != http.StatusServiceUnavailable || time.Now().After(deadline) { // 503 while Hob is still starting
			return res.StatusCode, string(out)
		}
	}
}

// A program posts to the webhook: the owner's text, which the secret proves, and text of other
// people.
func TestWebhook_Incoming(t *testing.T) {
	h := openDaemon(t, "[channels.webhook]\nsecret = \"whsec\"\nallow = [\"ada@example.org\"]\n")
	signed := func(body string) (int, string) {
		return h.postHook("/hooks/webhook", []byte(body), signedHook("whsec", body))
	}
	code, body := signed(`{"id":"1","text":"remember that the gate is green","wait":true}`)
	if code != http.StatusOK || !strings.Contains(body, "gate is green") {
		t.Fatalf("%d %s", code, body)
	}
	again, second := signed(`{"id":"1","text":"remember that the gate is green","wait":true}`)
	if again != http.StatusOK || !strings.Contains(second, `"repeated":true`) {
		t.Errorf("repeated post: %d %s", again, second)
	}
	if code, body := signed(`{"id":"2","text":"hello","sender":"eve@example.org"}`); code != http.StatusForbidden {
		t.Errorf("post of an unknown sender: %d %s", code, body)
	}
	if code, body := signed(`{"id":"3","text":"hello","sender":"Ada@Example.org"}`); code != http.StatusAccepted {
		t.Errorf("post of a sender on the list: %d %s", code, body)
	}
	if code, body := h.postHook("/hooks/webhook", []byte(`{"text":"hello"}`), nil); code != http.StatusUnauthorized || strings.Contains(body, "secret") {
		t.Errorf("post without a signature: %d %s", code, body)
	}
	if code, _ := h.postHook("/hooks/alexa", []byte(`{}`), nil); code != http.StatusUnauthorized {
		t.Errorf("post for a channel that is not configured: %d", code)
	}
	_, list := h.callAPI(http.MethodGet, "/api/v1/inbox", nil)
	if n := strings.Count(string(list), `"source":"webhook"`); n != 2 {
		t.Errorf("%d posts were accepted: %s", n, list)
	}
}

// An Alexa skill is paired with a code and speaks the answers.
func TestAlexa(t *testing.T) {
	const skill, account = "amzn1.ask.skill.1", "amzn1.ask.account.AB12"
	root, err := rsa.GenerateKey(rand.Reader, 2048)
	failOnError(t, err)
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Signer"}, DNSNames: []string{"echo-api.amazon.com"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &root.PublicKey, root)
	failOnError(t, err)
	cert, err := x509.ParseCertificate(der)
	failOnError(t, err)
	roots := x509.NewCertPool()
	roots.AddCert(cert)
	net := safehttptest.New(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = pem.Encode(w, &pem.Block{Type: "CERTIFICATE", Bytes: der})
	}))
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("HOB_HOME", filepath.Join(home, "hob"))
	paths, err := system.DefaultPaths()
	failOnError(t, err)
	ch, err := alexa.New(alexa.Config{Skill: skill}, channels.Deps{Network: net.Client(t), Dir: paths.ChannelDir(alexa.Name)}, alexa.Options{Roots: roots, Wait: 20 * time.Second})
	failOnError(t, err)
	h := openWith(t, home, Options{Paths: paths, Channels: map[string]channels.Channel{alexa.Name: ch}}, "[agent]\nmodel = \"offline\"\ntimezone = \"UTC\"\n[web]\nlisten = \"127.0.0.1:0\"\n")
	n := 0
	says := func(intent, text string) string {
		t.Helper()
		n++
		body, err := json.Marshal(map[string]any{
			"version": "1.0", "context": map[string]any{"System": map[string]any{"application": map[string]any{"applicationId": skill}, "user": map[string]any{"userId": account}}},
			"request": map[string]any{
				"type": "IntentRequest", "requestId": fmt.Sprintf("amzn1.echo-api.request.%d", n), "timestamp": time.Now().UTC().Format(time.RFC3339),
				"intent": map[string]any{"name": intent, "slots": map[string]any{"text": map[string]any{"name": "text", "value": text}}},
			},
		})
		failOnError(t, err)
		sum := sha256.Sum256(body)
		sig, err := rsa.SignPKCS1v15(rand.Reader, root, crypto.SHA256, sum[:])
		failOnError(t, err)
		code, out := h.postHook("/hooks/alexa", body, map[string]string{"SignatureCertChainUrl": "https://s3.amazonaws.com/echo.api/cert.pem", "Signature-256": base64.StdEncoding.EncodeToString(sig)})
		if code != http.StatusOK {
			t.Fatalf("%d %s", code, out)
		}
		return out
	}
	h.askHob("hello") // a conversation outside Alexa
	if out := says("WordWhatIntent", "is on today"); !strings.Contains(out, "account is not paired") {
		t.Errorf("answer to an unpaired account: %s", out)
	}
	status, body := h.callAPI(http.MethodPost, "/api/v1/channels/alexa/pair", struct{}{})
	var code struct{ Code string }
	if status != http.StatusOK || json.Unmarshal(body, &code) != nil {
		t.Fatalf("%d %s", status, body)
	}
	if out := says("CodeIntent", strings.Join(strings.Split(strings.ReplaceAll(code.Code, "-", ""), ""), ". ")+"."); !strings.Contains(out, "is paired") {
		t.Fatalf("the code does not pair: %s", out)
	}
	if out := says("WordRememberIntent", "that the gate is green"); !strings.Contains(out, "gate is green") {
		t.Errorf("answer to the owner: %s", out)
	}
}
