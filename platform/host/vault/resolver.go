package vault

import (
	"context"
	"time"

	"hob/platform/host/system"
	"hob/platform/text/redact"
)

// resolveTimeout limits the wait for a keychain, which may ask the user to unlock it.
const resolveTimeout = 5 * time.Second

// SecretResolver resolves references in the configuration. It adds every secret to a redact.Set, so
// that Hob's output never contains the secret.
type SecretResolver struct {
	secrets system.Secrets
	known   *redact.Set
	instead func(ctx context.Context, ref string) (string, error)
}

// NewSecretResolver returns a resolver for the secrets of a home. If instead is not nil, it is used
// to resolve references in a simulation.
func NewSecretResolver(p system.Paths, known *redact.Set, instead func(ctx context.Context, ref string) (string, error)) *SecretResolver {
	kept := SecretsFor(p)
	kept.Resolved = func(ref string, s system.Secret) { known.AddReference(ref, s.Reveal()) }
	return &SecretResolver{kept, known, instead}
}

// Secrets returns the stores of the secrets.
func (r *SecretResolver) Secrets() system.Secrets { return r.secrets }

// Resolve resolves a reference, or returns the secret itself. It waits at most resolveTimeout.
func (r *SecretResolver) Resolve(ref string) (string, error) {
	return r.ResolveContext(context.Background(), ref)
}

// ResolveContext works like Resolve, with a context.
func (r *SecretResolver) ResolveContext(ctx context.Context, ref string) (string, error) {
	if r.instead != nil {
		return r.instead(ctx, ref)
	}
	ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	s, err := r.secrets.Resolve(ctx, ref)
	return s.Reveal(), err
}

// ResolveReference resolves a reference. It returns other values unchanged and does not treat them
// as secrets.
func (r *SecretResolver) ResolveReference(value string) (string, error) {
	if !system.IsReference(value) {
		return value, nil
	}
	return r.Resolve(value)
}

// Env reads a variable that may contain a provider's key.
func (r *SecretResolver) Env(name string) string {
	v := r.secrets.Env(name)
	r.known.AddReference("env:"+name, v)
	return v
}
