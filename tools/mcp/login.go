package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"hob/autonomy/api"
	"hob/platform/host/system"
	"hob/platform/net/safehttp"
)

// loginTimeout is the time limit for the user to sign in.
const loginTimeout = 10 * time.Minute

// login is the last login to a server.
type login struct {
	open    sync.Once
	ready   chan struct{} // closed when address is set
	done    chan struct{} // closed when the login has ended
	address string        // address to open in a browser
	err     error
}

// savedLogin is a login as stored in the keychain. It is valid only for URL.
type savedLogin struct {
	URL          string           `json:"url"`
	ClientID     string           `json:"client_id"`
	ClientSecret string           `json:"client_secret,omitempty"`
	TokenURL     string           `json:"token_url"`
	AuthStyle    oauth2.AuthStyle `json:"auth_style,omitempty"`
	Scopes       []string         `json:"scopes,omitempty"`
	Token        *oauth2.Token    `json:"token"`
}

// LoginMCP implements api.MCP.
func (m *Manager) LoginMCP(ctx context.Context, name string, wait bool) (api.MCPLogin, error) {
	s, err := m.findServer(ctx, name)
	switch {
	case err != nil:
		return api.MCPLogin{}, err
	case s.cfg.URL == "":
		return api.MCPLogin{}, fmt.Errorf("%w: %s is a program; set its secrets in mcp.servers.%s.env", api.ErrInvalid, name, name)
	case !s.cfg.Enabled:
		return api.MCPLogin{}, fmt.Errorf("%w: %s is %w", api.ErrInvalid, name, errDisabled)
	}
	s.mu.Lock()
	l := s.login
	if l == nil || l.isDone() && !wait {
		l = &login{ready: make(chan struct{}), done: make(chan struct{})}
		s.login = l
		m.work.Go(func() { s.runLogin(l) }) //nolint:contextcheck // the login continues after the request
	}
	s.mu.Unlock()
	next := l.ready
	if wait {
		next = l.done
	}
	select {
	case <-next:
	case <-l.done:
	case <-ctx.Done():
		return api.MCPLogin{}, ctx.Err()
	}
	switch {
	case !l.isDone():
		return api.MCPLogin{Server: name, State: "open", URL: l.address}, nil
	case l.err != nil:
		return api.MCPLogin{}, fmt.Errorf("sign in to MCP server %s: %w", name, l.err)
	}
	return api.MCPLogin{Server: name, State: "done"}, nil
}

func (l *login) isDone() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// runLogin signs in with the authorization code flow and stores the token.
func (s *server) runLogin(l *login) {
	ctx, cancel := context.WithTimeout(s.m.life, loginTimeout)
	defer cancel()
	l.err = s.signIn(ctx, l)
	if l.err != nil {
		s.logs.addLine("login: " + l.err.Error())
	}
	close(l.done)
}

// signIn connects with a handler that signs in when the server requires it.
func (s *server) signIn(ctx context.Context, l *login) error {
	var listen net.ListenConfig
	at, err := listen.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("wait for the browser: %w", err)
	}
	back := make(chan auth.AuthorizationResult, 1)
	redirect := "http://" + at.Addr().String() + "/callback"
	page := &callbackPage{back: back}
	web := &http.Server{Handler: page, ReadHeaderTimeout: 10 * time.Second}
	var serving sync.WaitGroup
	serving.Go(func() { _ = web.Serve(at) }) // ends with Close
	defer serving.Wait()
	defer func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second) // time for the answer to the browser
		defer cancel()
		_ = web.Shutdown(last)
	}()
	handler, err := s.loginHandler(ctx, l, redirect, page, back)
	if err != nil {
		return err
	}
	ses, err := s.dialRevision(ctx, "", loginTimeout, handler)
	if err != nil {
		return err
	}
	s.hangUp(ses)
	select {
	case <-l.ready:
	default:
		return errors.New("the server requires no login; nothing was changed")
	}
	s.mu.Lock()
	old := s.session
	s.mu.Unlock()
	if old != nil { // the open connection uses the former token
		s.hangUp(old)
		select {
		case <-old.done:
		case <-ctx.Done():
		}
	}
	s.forgetFailures()
	return nil
}

// loginHandler returns the SDK's handler of the authorization code flow. It checks state, issuer and
// resource and uses PKCE.
func (s *server) loginHandler(ctx context.Context, l *login, redirect string, page *callbackPage, back <-chan auth.AuthorizationResult) (auth.OAuthHandler, error) {
	client, err := s.authClient()
	if err != nil {
		return nil, err
	}
	pin := &pinnedToken{next: client.Transport, server: s.cfg.Name}
	if s.cfg.ClientSecret != "" && s.cfg.Issuer == "" {
		former, err := s.readLogin(ctx)
		if err != nil {
			return nil, err
		}
		pin.tokenURL = former.TokenURL
		client.Transport = pin
	}
	c := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL: redirect, RequestRefreshToken: true, Client: client,
		AuthorizationCodeFetcher: func(ctx context.Context, a *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			select {
			case <-l.ready: // the SDK retries with the former revision
				return nil, cmp.Or(pin.refusal, errors.New("the login failed after you signed in"))
			default:
			}
			u, err := url.Parse(a.URL)
			if err != nil || u.Scheme != "https" && u.Hostname() != "127.0.0.1" && u.Hostname() != "localhost" {
				return nil, fmt.Errorf("the login page %q is not an https address", cutText(a.URL, 200))
			}
			page.expectState(u.Query().Get("state"))
			l.open.Do(func() {
				l.address = a.URL
				close(l.ready)
			})
			select {
			case r := <-back:
				if r.Code == "" {
					return nil, errors.New("the login was refused in the browser")
				}
				return &r, nil
			case <-ctx.Done():
				return nil, fmt.Errorf("no login within 10 minutes: %w; run hob mcp login %s again", ctx.Err(), s.cfg.Name)
			}
		},
		NewTokenSource: func(ctx context.Context, o *oauth2.Config, t *oauth2.Token) (oauth2.TokenSource, error) {
			saved := savedLogin{URL: s.cfg.URL, ClientID: o.ClientID, ClientSecret: o.ClientSecret, TokenURL: o.Endpoint.TokenURL, AuthStyle: o.Endpoint.AuthStyle, Scopes: o.Scopes, Token: t}
			if err := s.saveLogin(ctx, saved); err != nil {
				return nil, err
			}
			return oauth2.StaticTokenSource(t), nil
		},
	}
	c.ScopeFilter = func(named []string) []string {
		if len(s.cfg.Scopes) > 0 {
			return slices.Clone(s.cfg.Scopes)
		}
		return s.withRefusedScopes(named)
	}
	isDocument := strings.HasPrefix(s.cfg.ClientID, "https://")
	if isDocument { // some authorization servers support a client ID document; Hob registers itself with other servers
		c.ClientIDMetadataDocumentConfig = &auth.ClientIDMetadataDocumentConfig{URL: s.cfg.ClientID}
	}
	if s.cfg.ClientID != "" && !isDocument {
		c.PreregisteredClient = &oauthex.ClientCredentials{ClientID: s.cfg.ClientID, Issuer: s.cfg.Issuer}
		if s.cfg.ClientSecret != "" {
			secret, err := s.m.opt.Secret(ctx, s.cfg.ClientSecret)
			if err != nil {
				return nil, fmt.Errorf("mcp.servers.%s.client_secret: %w", s.cfg.Name, err)
			}
			c.PreregisteredClient.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: secret}
		}
	} else {
		c.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "Hob", RedirectURIs: []string{redirect}, GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"}, TokenEndpointAuthMethod: "none",
		}}
	}
	return auth.NewAuthorizationCodeHandler(c)
}

// readLogin returns the stored login for the URL. If there is none, it returns a login without a
// token. It returns an error if the keychain cannot be read, because the stored login may pin the
// authorization server.
func (s *server) readLogin(ctx context.Context) (savedLogin, error) {
	text, err := s.m.opt.Keychain.Resolve(ctx, "keychain:"+s.secretName())
	if errors.Is(err, system.ErrNoSecret) {
		return savedLogin{}, nil
	}
	if err != nil {
		return savedLogin{}, fmt.Errorf("read the stored login: %w", err)
	}
	var saved savedLogin
	if json.Unmarshal([]byte(text.Reveal()), &saved) != nil || saved.URL != s.cfg.URL || saved.Token == nil {
		return savedLogin{}, nil
	}
	return saved, nil
}

// pinnedToken sends token requests, which contain the client secret, only to the token endpoint of
// the first login. An MCP server chooses the authorization server, so it could name a server that it
// controls.
type pinnedToken struct {
	next             http.RoundTripper
	server, tokenURL string
	refusal          error
}

// RoundTrip implements http.RoundTripper.
func (p *pinnedToken) RoundTrip(r *http.Request) (*http.Response, error) {
	if p.tokenURL != "" && r.Method != http.MethodGet && r.URL.String() != p.tokenURL {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		p.refusal = fmt.Errorf("the server names another authorization server (%s) than at the first login (%s), so Hob did not send the client secret; if you trust the new authorization server, set mcp.servers.%s.issuer to its address", r.URL.Host, p.tokenURL, p.server)
		return nil, p.refusal
	}
	return p.next.RoundTrip(r)
}

// authClient returns the HTTP client for the authorization server. Because the MCP server chose the
// address, the client connects only to public addresses and to the MCP server's own address, and
// follows no redirects.
func (s *server) authClient() (*http.Client, error) {
	network, err := s.m.opt.Network.Named(s.cfg.URL)
	if err != nil {
		return nil, err
	}
	client := safehttp.NewStreamingClient(&safehttp.Transport{Client: network, MaxLine: 1 << 20, Wait: connectTimeout})
	client.Timeout = connectTimeout
	return client, nil
}

// callbackPage receives the answer of the authorization server.
type callbackPage struct {
	back chan<- auth.AuthorizationResult

	mu    sync.Mutex
	state string
}

func (p *callbackPage) expectState(state string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state = state
}

// ServeHTTP implements http.Handler. It ignores requests whose state parameter differs, because
// they did not come from this login.
func (p *callbackPage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	p.mu.Lock()
	mine := p.state != "" && q.Get("state") == p.state
	p.mu.Unlock()
	if !mine || r.URL.Path != "/callback" {
		http.Error(w, "This is not the answer to a login of Hob.", http.StatusBadRequest)
		return
	}
	text := "Done. You can close this page and return to Hob."
	if q.Get("code") == "" {
		text = "The login was refused. You can close this page."
	}
	select {
	case p.back <- auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}:
	default: // answered before
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte(text)) // fails if the browser has closed the connection
}

func (s *server) secretName() string { return "mcp-" + s.cfg.Name }

func (s *server) saveLogin(ctx context.Context, saved savedLogin) error {
	b, err := json.Marshal(saved)
	if err != nil {
		return err
	}
	_, err = s.m.opt.Keychain.Keep(context.WithoutCancel(ctx), s.secretName(), system.Secret(b), false)
	return err
}

// storedHandler returns the handler with the stored token, or a handler without a token.
func (s *server) storedHandler(ctx context.Context) (auth.OAuthHandler, error) {
	h := &storedToken{s: s}
	saved, err := s.readLogin(ctx)
	if err != nil || saved.Token == nil {
		return h, nil //nolint:nilerr // without a readable login the server asks for one
	}
	client, err := s.authClient()
	if err != nil {
		return nil, err
	}
	o := &oauth2.Config{ClientID: saved.ClientID, ClientSecret: saved.ClientSecret, Endpoint: oauth2.Endpoint{TokenURL: saved.TokenURL, AuthStyle: saved.AuthStyle}, Scopes: saved.Scopes}
	h.saved, h.source = saved, o.TokenSource(context.WithValue(s.m.life, oauth2.HTTPClient, client), saved.Token) //nolint:contextcheck // tokens are renewed as long as Hob runs
	return h, nil
}

// storedToken uses a stored token, renews it when it has expired, and never signs in by itself.
type storedToken struct {
	s *server

	mu     sync.Mutex
	saved  savedLogin
	source oauth2.TokenSource
}

// TokenSource implements auth.OAuthHandler.
func (h *storedToken) TokenSource(context.Context) (oauth2.TokenSource, error) {
	if h.source == nil {
		return nil, nil //nolint:nilnil // the interface allows it
	}
	return h, nil
}

// Token implements oauth2.TokenSource.
func (h *storedToken) Token() (*oauth2.Token, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t, err := h.source.Token()
	if err != nil {
		return nil, &loginError{"the login has expired and cannot be renewed; run: hob mcp login " + h.s.cfg.Name}
	}
	h.s.m.opt.Redact(t.AccessToken)
	if t.AccessToken != h.saved.Token.AccessToken {
		h.saved.Token = t
		if err := h.s.saveLogin(h.s.m.life, h.saved); err != nil {
			h.s.m.opt.Log.Warn("renewed token not stored", "server", h.s.cfg.Name, "err", err)
		}
	}
	return t, nil
}

// Authorize implements auth.OAuthHandler.
func (h *storedToken) Authorize(_ context.Context, _ *http.Request, resp *http.Response) error {
	_ = resp.Body.Close()
	if resp.StatusCode == http.StatusForbidden {
		return h.s.refusedScopes(resp.Header, h.saved.Scopes)
	}
	if h.source != nil {
		return &loginError{"the server rejects the stored login; run: hob mcp login " + h.s.cfg.Name}
	}
	return &loginError{"the server requires a login (HTTP 401); run: hob mcp login " + h.s.cfg.Name + ", or set its headers"}
}

// maxScopes limits the scopes that a server may demand for calls.
const maxScopes = 50

// refusedScopes returns the error for a call that needs more rights than the login has (step-up
// authorization), and records the scopes for the next login. It returns nil for other refusals.
func (s *server) refusedScopes(header http.Header, granted []string) error {
	challenges, err := oauthex.ParseWWWAuthenticate(header["Www-Authenticate"])
	if err != nil {
		return nil //nolint:nilerr // the SDK reports the status
	}
	i := slices.IndexFunc(challenges, func(c oauthex.Challenge) bool {
		return c.Scheme == "bearer" && c.Params["error"] == "insufficient_scope"
	})
	if i < 0 {
		return nil
	}
	more := strings.Fields(cutText(challenges[i].Params["scope"], 2000))
	if len(s.cfg.Scopes) > 0 {
		return &loginError{fmt.Sprintf("the login has too few rights for this call; add %s to mcp.servers.%s.scopes, then run: hob mcp login %s", strings.Join(more, ", "), s.cfg.Name, s.cfg.Name)}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, scope := range append(slices.Clone(granted), more...) {
		if !slices.Contains(s.scopes, scope) && len(s.scopes) < maxScopes {
			s.scopes = append(s.scopes, scope)
		}
	}
	return &loginError{fmt.Sprintf("the login has too few rights for this call, it needs %s; run: hob mcp login %s", strings.Join(more, ", "), s.cfg.Name)}
}

// withRefusedScopes adds the scopes for which calls were refused.
func (s *server) withRefusedScopes(named []string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := slices.Clone(named)
	for _, scope := range s.scopes {
		if !slices.Contains(out, scope) {
			out = append(out, scope)
		}
	}
	return out
}
