package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

// overlay runs a script in a copy of this system's files, which disappears with the script. The
// mounts are in a namespace of their own, so nothing of this system changes.
const overlay = `set -eu
mount --make-rprivate /
mount -t tmpfs none "$SCRATCH"
mkdir "$SCRATCH/upper" "$SCRATCH/work" "$SCRATCH/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$SCRATCH/upper,workdir=$SCRATCH/work" "$SCRATCH/root"
mount --rbind /dev "$SCRATCH/root/dev"
mount -t proc none "$SCRATCH/root/proc"
mount -t tmpfs none "$SCRATCH/root/run"
cp "$PACKAGE" "$SCRATCH/root/run/package"
printf %s "$SCRIPT" > "$SCRATCH/root/run/script"
echo MOUNTED
exec chroot "$SCRATCH/root" sh -eu /run/script
`

// life is the life of an installed package of either format: the script inspects it, uses it,
// changes it as an operator does, installs it again, and removes it. Each check that fails ends the
// script with a line that begins with FAILED.
const life = `
failed() { echo "FAILED: $*"; exit 1; }
same() { [ "$1" = "$2" ] || failed "$3: $1, want $2"; }
! getent passwd tidemark >/dev/null || failed "this system has the user already"
install_it
same "$(getent passwd tidemark | cut -d: -f6-)" /var/lib/tidemark:/usr/sbin/nologin "the user"
same "$(stat -c '%a %U:%G' /etc/tidemark/tidemark.yml)" "640 root:tidemark" "the settings"
same "$(stat -c '%a %U:%G' /usr/bin/tidemark)" "755 root:root" "the command"
same "$(stat -c '%a %U:%G' /usr/lib/systemd/system/tidemark.service)" "644 root:root" "the unit"
head -c 60 /usr/share/doc/tidemark/copyright | grep -q 'Apache License' || failed "no licence"
verify_it
cd /
su -s /bin/sh tidemark -c 'tidemark version' | grep '^tidemark v0.0.0-test' || failed "the command does not run"
su -s /bin/sh tidemark -c 'tidemark config check --config /etc/tidemark/tidemark.yml --data-dir /tmp' > /run/checked 2>&1 && failed "there is a broker?"
grep -q 127.0.0.1:9092 /run/checked || failed "the settings are not read: $(cat /run/checked)"
if command -v systemd-analyze >/dev/null; then
	systemd-analyze verify --man=no --generators=no --recursive-errors=one /usr/lib/systemd/system/tidemark.service || failed "the unit"
fi
echo 'listen: 127.0.0.1:8090' >> /etc/tidemark/tidemark.yml
upgrade_it
grep -q 8090 /etc/tidemark/tidemark.yml || failed "an upgrade replaces the settings"
same "$(stat -c '%a %U:%G' /etc/tidemark/tidemark.yml)" "640 root:tidemark" "the settings after an upgrade"
remove_it
! [ -e /usr/bin/tidemark ] || failed "the command stays"
! [ -e /usr/lib/systemd/system/tidemark.service ] || failed "the unit stays"
grep -rq 8090 /etc/tidemark || failed "a removal loses the settings"
getent passwd tidemark >/dev/null || failed "a removal loses the user, who owns the stores"
`

// dpkg installs Debian's package, installs it again over changed settings, removes and purges it,
// in a copy of this system.
func TestDebIsInstalled(t *testing.T) {
	out := installed(t, "deb", `
install_it() { dpkg -i /run/package; }
upgrade_it() { dpkg -i --force-confold /run/package; }
remove_it() { dpkg -r tidemark; }
verify_it() {
	dpkg-deb -f /run/package Maintainer Homepage Depends Recommends
	dpkg -V tidemark > /run/verified || true
	! [ -s /run/verified ] || failed "$(cat /run/verified)"
}`+life+`
dpkg -P tidemark
! [ -e /etc/tidemark/tidemark.yml ] || failed "a purge leaves the settings"
echo DONE`)
	for _, line := range []string{"Maintainer: The Tidemark authors\n", "Homepage: https://github.com/tidemark/tidemark\n", "Depends: passwd\n"} {
		if !strings.Contains(out, line) {
			t.Errorf("%q is not in\n%s", line, out)
		}
	}
}

// rpm installs Red Hat's package, installs it again and removes it, in a copy of this system and
// with a database of its own. It checks the package's digests and, once installed, all its files.
// It does not check dependencies, because Debian has none of them as an rpm.
func TestRPMIsInstalled(t *testing.T) {
	testkit.Program(t, "rpm")
	out := installed(t, "rpm", `
rpm() { command rpm --dbpath /run/rpmdb "$@"; }
command rpm --dbpath /run/rpmdb --initdb
rpm -K --nosignature /run/package
rpm -qp --qf '%{NAME} %{VERSION} %{ARCH} %{LICENSE} %{URL} %{BUILDHOST}\n' /run/package
rpm -qp --qf '[%{FILENAMES} %{FILEMODES:perms} %{FILEUSERNAME}:%{FILEGROUPNAME} %{FILEFLAGS:fflags}\n]' /run/package
rpm -qpR /run/package
install_it() { rpm -i --nodeps /run/package; }
upgrade_it() { rpm -U --nodeps --replacepkgs /run/package; }
remove_it() { rpm -e tidemark; }
verify_it() { rpm -V --nodeps --nogroup tidemark || failed "files differ from the package"; }
`+life+`echo DONE`)
	arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	for _, line := range []string{
		"digests OK\n", "tidemark 0.0.0~test " + arch + " Apache-2.0 https://github.com/tidemark/tidemark release\n", "/usr/bin/tidemark -rwxr-xr-x root:root \n",
		"/usr/lib/systemd/system/tidemark.service -rw-r--r-- root:root \n", "/etc/tidemark/tidemark.yml -rw-r----- root:root cn\n",
		"/usr/share/doc/tidemark/copyright -rw-r--r-- root:root \n", "/usr/share/doc/tidemark/CHANGELOG.md -rw-r--r-- root:root \n", "shadow-utils\n",
	} {
		if !strings.Contains(out, line) {
			t.Errorf("%q is not in\n%s", line, out)
		}
	}
	if n := len(regexp.MustCompile(`(?m)^/\S+ -[rwx-]{9} `).FindAllString(out, -1)); n != 5 {
		t.Errorf("%d files, want 5:\n%s", n, out)
	}
}

// installed makes a package of the command for this machine's platform, and runs a script in a copy
// of this system in which /run/package is the package.
func installed(t *testing.T, format, script string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds the command and nfpm")
	}
	if _, err := os.Stat("/etc/debian_version"); err != nil || os.Geteuid() != 0 {
		t.Skip("installs a package in a copy of the system, for which it must be root on Debian")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 12*time.Minute)
	defer cancel()
	here, binary, out := platform{"linux", runtime.GOARCH}, filepath.Join(t.TempDir(), "tidemark"), t.TempDir()
	if err := build(ctx, root, binary, here, "v0.0.0-test", false); err != nil {
		t.Fatal(err)
	}
	p := packager{command: strings.Fields("go tool -modfile=tools/nfpm.mod nfpm"), root: mustAbs(t, root)}
	if _, err := p.pack(ctx, out, "tidemark", binary, here, "v0.0.0-test", time.Unix(1e9, 0)); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(ctx, "sh", "-c", overlay)
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	c.Env = append(os.Environ(), "SCRATCH="+t.TempDir(), "PACKAGE="+filepath.Join(out, "tidemark."+format), "SCRIPT="+script, "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive")
	text, err := c.CombinedOutput()
	if !strings.Contains(string(text), "MOUNTED\n") {
		t.Skipf("this system lets root mount nothing: %s", text)
	}
	if err != nil || !strings.HasSuffix(string(text), "DONE\n") {
		t.Fatalf("%v\n%s", err, text)
	}
	return string(text)
}
