package command

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// noteEffects records the known effects of a program. A program without known effects may still be
// harmful: only a listed command is known to be read-only.
func (l *analysis) noteEffects(args []string) {
	args = l.unwrapArgs(args)
	if len(args) == 0 {
		return
	}
	name := strings.ToLower(filepath.Base(args[0]))
	sub := name
	if len(args) > 1 {
		sub = name + " " + args[1]
	}
	v := &l.verdict
	if hasNetworkAccess(args) {
		v.Egress = true
		l.noteObjection(name + " contacts other machines" + l.findRecipient(args))
	}
	if isDestructiveProgram(name) || isDestructiveProgram(sub) || name == "git" && slices.Contains(args, "--hard") || name == "find" && slices.Contains(args, "-delete") {
		v.Destroy = true
		l.noteObjection("the command " + sub + " cannot be undone")
	}
	switch {
	case isSendingProgram(name):
		v.Send = true
		l.noteObjection(name + " sends messages")
	case isWrapper(name):
		l.noteTableObjection(name + " runs other programs named in its arguments")
	case name == "." || name == "source" || name == "eval" || name == "exec":
		l.noteObjection(name + " runs other programs named in its arguments")
	case name == "alias":
		l.noteObjection("the command defines an alias")
	}
}

// hasNetworkAccess reports whether a program is known to contact other machines.
func hasNetworkAccess(args []string) bool {
	name := strings.ToLower(filepath.Base(args[0]))
	if len(args) > 1 && isNetworkProgram(name+" "+args[1]) {
		return true
	}
	if name == "git" && len(args) > 2 && args[1] == "remote" {
		return slices.Contains([]string{"show", "update", "prune", "add"}, args[2])
	}
	version := len(args) == 2 && (args[1] == "--version" || args[1] == "-V" || args[1] == "--help")
	return isNetworkProgram(name) && !version
}

// noteTableObjection records a reason that matters only if the table does not list the command.
func (l *analysis) noteTableObjection(text string) { l.asides = append(l.asides, text) }

// unwrapArgs removes wrappers: programs that run their remaining arguments.
func (l *analysis) unwrapArgs(args []string) []string {
	for range 8 {
		if len(args) < 2 || !slices.Contains([]string{
			"env", "sudo", "doas", "nohup", "nice", "ionice", "setsid", "timeout", "time", "stdbuf", "xargs", "command", "builtin", "exec", "busybox", "toybox", "coreutils", "watch", "chroot", "strace",
		}, filepath.Base(args[0])) {
			return args
		}
		l.noteTableObjection(filepath.Base(args[0]) + " runs other programs named in its arguments")
		rest := args[1:]
		for len(rest) > 0 && (strings.HasPrefix(rest[0], "-") || strings.Contains(rest[0], "=") || strings.Trim(rest[0], "0123456789.smhd") == "") {
			rest = rest[1:]
		}
		args = rest
	}
	return args
}

func isNetworkProgram(name string) bool {
	return slices.Contains([]string{
		"curl", "wget", "wget2", "aria2c", "http", "https", "xh", "httpie", "ssh", "scp", "sftp", "rsync", "ftp", "lftp", "tftp", "telnet", "nc", "ncat", "netcat", "socat", "openssl", "rclone", "restic",
		"ping", "ping6", "traceroute", "tracepath", "mtr", "dig", "nslookup", "host", "drill", "whois", "nmap", "arp-scan", "smbclient", "mosh", "rdesktop", "xfreerdp", "lynx", "w3m", "links", "elinks",
		"git fetch", "git pull", "git push", "git clone", "git ls-remote", "git submodule", "git send-email", "gh", "glab", "hub", "aws", "gcloud", "az", "kubectl", "helm", "terraform", "ansible",
		"docker", "podman", "npm", "pnpm", "yarn", "npx", "bunx", "uvx", "pip", "pip3", "pipx", "uv", "gem", "cargo install", "cargo add", "go get", "go install", "brew", "apt", "apt-get", "dnf", "yum", "zypper",
		"pacman", "apk", "snap", "flatpak", "nix", "youtube-dl", "yt-dlp", "nscurl", "getent", "resolvectl", "tcpdump", "tshark", "showmount", "smbutil", "rpcinfo", "snmpwalk", "ldapsearch", "psql", "mysql", "mongo",
		"mongosh", "redis-cli", "tor", "torsocks", "proxychains", "ipfs", "croc", "magic-wormhole", "wormhole", "ngrok", "cloudflared", "xdg-open", "open",
	}, name)
}

func isSendingProgram(name string) bool {
	return slices.Contains([]string{"mail", "mailx", "sendmail", "mutt", "neomutt", "msmtp", "swaks", "write", "wall", "xmpp", "signal-cli", "telegram-cli"}, name)
}

func isDestructiveProgram(name string) bool {
	return slices.Contains([]string{
		"rm", "rmdir", "unlink", "shred", "srm", "wipe", "dd", "truncate", "mkfs", "mkfs.ext4", "mkswap", "fdisk", "parted", "sgdisk", "wipefs", "blkdiscard", "cryptsetup", "kill", "pkill", "killall",
		"shutdown", "reboot", "halt", "poweroff", "init", "userdel", "deluser", "groupdel", "iptables", "nft", "ufw", "crontab", "visudo", "passwd", "chpasswd",
		"git clean", "git reset", "git gc", "git prune", "git filter-branch", "git checkout", "git restore", "git rm", "docker rm", "docker rmi", "docker system",
	}, name)
}

// findRecipient returns text among the arguments that looks like an address.
func (l *analysis) findRecipient(args []string) string {
	for _, a := range args[1:] {
		if strings.HasPrefix(a, "-") {
			continue
		}
		if strings.Contains(a, "://") || strings.Contains(a, ".") && !strings.HasPrefix(a, ".") && !strings.HasPrefix(a, "/") || strings.Contains(a, "@") {
			return ": " + truncateRunes(a, 80)
		}
	}
	return ""
}

func truncateRunes(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "..."
	}
	return s
}

// shellCommand returns the shell for commands that need one.
func (j *Analyzer) shellCommand() (path string, args []string) {
	if p := j.findProgram("/", "bash"); p.path != "" {
		return p.path, []string{"bash", "--noprofile", "--norc", "-c"}
	}
	return j.findProgram("/", "sh").path, []string{"sh", "-c"}
}

func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
