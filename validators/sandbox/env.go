package sandbox

import (
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

// EnvOptions say what a command's environment is built from. Every path is absolute.
type EnvOptions struct {
	// Caller is the environment hob was started with. Only PATH and the toolchain roots in the
	// table below are taken from it; tokens and proxies, PYTHONPATH and GOFLAGS stay behind.
	Caller []string

	// UserHome is the user's home folder. It is never the command's; it tells where toolchains
	// are that keep themselves there when no variable says so.
	UserHome string

	// Home and Temp become HOME and TMPDIR. They lie in the state folder, and the caller makes
	// them before the first run.
	Home, Temp string

	// Cache is hob's cache folder; each tool has its own below it.
	Cache string

	// Scope is the folder below each tool's cache: the repository's id for [sandbox] cache =
	// "repo", "shared" for "shared". A poisoned cache reaches as far as its scope.
	Scope string

	// ModCache is the user's own GOMODCACHE. Its download half serves as a module proxy, so that
	// modules the user already has are found without network; "" is no proxy at all.
	ModCache string

	// Ceiling is the folder of the slots: git doesn't look for a repository in it or above, so a
	// slot is never taken for part of one that happens to lie around it.
	Ceiling string
}

// toolchains are programs that find themselves through a variable or below the home folder, and
// would be lost when HOME moves. None of these folders holds credentials (~/.cargo does, and is
// only ever used through PATH).
var toolchains = [...]struct{ name, home, bin string }{
	{"RUSTUP_HOME", ".rustup", ".cargo"},
	{"PYENV_ROOT", ".pyenv", ".pyenv"},
	{"RBENV_ROOT", ".rbenv", ".rbenv"},
	{"NODENV_ROOT", ".nodenv", ".nodenv"},
	{"VOLTA_HOME", ".volta", ".volta"},
	{"ASDF_DATA_DIR", ".asdf", ".asdf"},
	{"MISE_DATA_DIR", ".local/share/mise", ".local/share/mise"},
	{"JAVA_HOME", "", ""},
}

// Env builds a complete environment from zero, sorted. It touches no disk and reads no environment.
func Env(o EnvOptions) []string {
	path := searchPath(lookup(o.Caller, "PATH"))
	cache := func(tool ...string) string {
		return filepath.Join(append([]string{o.Cache, tool[0], o.Scope}, tool[1:]...)...)
	}
	env := []string{
		"PATH=" + strings.Join(path, ":"),
		"HOME=" + o.Home,
		"TMPDIR=" + o.Temp,
		"LANG=C.UTF-8",
		"TZ=UTC",
		"TERM=dumb",
		"CI=1",
		"NO_COLOR=1",

		"GIT_CEILING_DIRECTORIES=" + o.Ceiling,
		"GIT_OPTIONAL_LOCKS=0",
		"GIT_TERMINAL_PROMPT=0",

		"GOTOOLCHAIN=local",
		// No -mod here: it breaks vendored projects. -modcacherw, so that caches can be deleted.
		"GOFLAGS=-buildvcs=false -modcacherw",
		"GOCACHE=" + cache("go", "build"),
		"GOMODCACHE=" + cache("go", "mod"),
		"GOPROXY=" + moduleProxy(o.ModCache),
		"GOSUMDB=off", // the user's cache was verified when it was filled, and there is no network to ask

		// Without these npm tries for 76 s and cargo for 12 s before they notice that they are offline.
		"npm_config_cache=" + cache("npm"),
		"npm_config_offline=true",
		"npm_config_fetch_retries=0",
		"npm_config_update_notifier=false",
		"CARGO_HOME=" + cache("cargo"),
		"CARGO_NET_OFFLINE=true",
		"CARGO_NET_RETRY=0",
		"CARGO_TERM_COLOR=never",
		"RUSTUP_AUTO_INSTALL=0",
		"PIP_CACHE_DIR=" + cache("pip"),
		"PIP_NO_INDEX=1",
		"PIP_RETRIES=0",
		"PIP_DISABLE_PIP_VERSION_CHECK=1",
		"UV_CACHE_DIR=" + cache("uv"),
		"UV_OFFLINE=1",
		"MAVEN_ARGS=-o",
		"DEBIAN_FRONTEND=noninteractive",
	}
	env = append(env, toolchainRoots(o, path)...)
	slices.Sort(env)
	return env
}

// searchPath drops relative entries: with them, the repository would choose which `go` runs.
func searchPath(path string) []string {
	return slices.DeleteFunc(filepath.SplitList(path), func(dir string) bool { return !filepath.IsAbs(dir) })
}

func moduleProxy(modCache string) string {
	if modCache == "" {
		return "off"
	}
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Join(modCache, "cache", "download"))}
	return u.String()
}

// toolchainRoots names the roots that the caller names, and those in the home folder whose
// programs the search path leads to.
func toolchainRoots(o EnvOptions, path []string) []string {
	var env []string
	for _, t := range toolchains {
		root := lookup(o.Caller, t.name)
		if root == "" && o.UserHome != "" && t.home != "" {
			bin := filepath.Join(o.UserHome, t.bin) + "/"
			if slices.ContainsFunc(path, func(dir string) bool { return strings.HasPrefix(dir, bin) }) {
				root = filepath.Join(o.UserHome, t.home)
			}
		}
		if filepath.IsAbs(root) {
			env = append(env, t.name+"="+root)
		}
	}
	return env
}
