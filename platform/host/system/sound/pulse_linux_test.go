package sound

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestPulseAudio uses a real PulseAudio with a null output.
func TestPulseAudio(t *testing.T) {
	program, err := exec.LookPath("pulseaudio")
	if err != nil {
		t.Skip("pulseaudio is not installed")
	}
	if _, err := exec.LookPath("pactl"); err != nil {
		t.Skip("pactl is not installed")
	}
	dir, err := os.MkdirTemp("", "pulse") // the path of a socket must be short
	failOnError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	env := map[string]string{"HOME": dir, "XDG_RUNTIME_DIR": dir, "PATH": os.Getenv("PATH"), "PULSE_SERVER": "unix:" + filepath.Join(dir, "sock"), "PULSE_COOKIE": filepath.Join(dir, "cookie")}
	cmd := exec.CommandContext(t.Context(), program, "-n", "--daemonize=no", "--use-pid-file=no", "--disable-shm=yes", "--exit-idle-time=-1", "--system=no",
		"-L", "module-null-sink", "-L", "module-native-protocol-unix auth-anonymous=1 socket="+filepath.Join(dir, "sock"))
	for k, v := range env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	failOnError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	m := New(Options{Getenv: func(k string) string { return env[k] }})
	var l Level
	for range 100 { // until PulseAudio has started
		if l, err = m.Level(t.Context()); err == nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err != nil {
		t.Skip("pulseaudio does not start: ", err)
	}
	if l, err = m.Set(t.Context(), 30); err != nil || l.Percent != 30 || l.Muted {
		t.Errorf("Set = %+v, %v", l, err)
	}
	if l, err = m.Mute(t.Context(), true); err != nil || !l.Muted || l.Percent != 30 {
		t.Errorf("Mute = %+v, %v", l, err)
	}
}
