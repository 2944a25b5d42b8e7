package testadapter

import (
	"slices"
	"strings"
)

// options is how one tool reads its command line: which options the next word belongs to. The tables are the tools'
// own, of all versions together: Jest 26 to 30 (jest-cli's args), Vitest 0.34 to 4 (its cliOptionsConfig), Mocha 8 to
// 12 (run-option-metadata), Playwright 1.30 to 1.65, Node 18 to 24, Bun 1 and Deno 1 and 2 (their --help), pytest 7 to
// 9 with the plugins that most have.
type options struct {
	values string // take the next word
	lists  string // take all words up to the next option
	may    string // take the next word unless it begins with a dash
	flags  string // take none; with rest these are all that do not
	rest   bool   // an option that is in no list takes the next word unless it begins with a dash
	// an adapter gives them in its own way, or they would make the tool wait: left out, with what belongs to them
	own   string
	camel bool   // --test-timeout is --testTimeout
	short string // one-letter options that take a value, which may follow at once: -w2
}

var toolOptions = map[string]*options{
	"jest": {camel: true, rest: true, short: "cwt",
		values: "cacheDirectory changedSince config coverageDirectory coverageProvider coverageThreshold filter " +
			"globalSetup globalTeardown globals haste " +
			"maxConcurrency maxWorkers moduleNameMapper notifyMode openHandlesTimeout outputFile preset prettierPath resolver " +
			"rootDir runner seed shard " +
			"testEnvironment env testEnvironmentOptions testFailureExitCode testNamePattern testResultsProcessor testRunner " +
			"testSequencer testTimeout testURL timers " +
			"transform workerGracefulExitTimeout workerIdleMemoryLimit snapshotFormat dependencyExtractor c w t",
		lists: "collectCoverageFrom coveragePathIgnorePatterns coverageReporters ignoreProjects moduleDirectories " +
			"moduleFileExtensions modulePathIgnorePatterns " +
			"modulePaths projects reporters roots selectProjects setupFiles setupFilesAfterEnv snapshotSerializers testMatch " +
			"testPathIgnorePatterns testPathPattern " +
			"testPathPatterns testRegex transformIgnorePatterns unmockedModulePathPatterns watchPathIgnorePatterns " +
			"extensionsToTreatAsEsm",
		flags: "all automock bail b cache changedFilesWithAncestor ci clearCache clearMocks collectCoverage collectTests " +
			"color colors coverage debug detectLeaks " +
			"detectOpenHandles errorOnDeprecated expand e findRelatedTests forceExit injectGlobals json lastCommit listTests " +
			"logHeapUsage noStackTrace notify " +
			"onlyChanged o onlyFailures f passWithNoTests randomize resetMocks resetModules restoreMocks runInBand i " +
			"runTestsByPath showConfig showSeed silent " +
			"skipFilter testLocationInResults updateSnapshot u useStderr verbose waitForUnhandledRejections watch watchAll " +
			"watchman workerThreads",
		own: "watch watchAll coverage collectCoverage reporters silent verbose json outputFile listTests showConfig"},
	"vitest": {camel: true, rest: true, short: "rct",
		values: "r c t",
		flags: "watch w ui open hideSkippedTests coverage coverage.enabled coverage.all coverage.clean " +
			"coverage.cleanOnRerun coverage.reportOnFailure " +
			"coverage.allowExternal coverage.skipFull coverage.thresholds coverage.thresholds.perFile coverage.thresholds.100 " +
			"isolate globals dom browser.enabled " +
			"browser.headless browser.isolate browser.ui browser.fileParallelism browser.slowHijackESM " +
			"browser.trackUnhandledErrors fileParallelism passWithNoTests " +
			"logHeapUsage detectAsyncLeaks allowOnly dangerouslyIgnoreUnhandledErrors sequence.shuffle sequence.shuffle.files " +
			"sequence.shuffle.tests " +
			"sequence.concurrent expandSnapshotDiff disableConsoleIntercept typecheck typecheck.enabled typecheck.only " +
			"typecheck.allowJs " +
			"typecheck.ignoreSourceErrors cache expect expect.requireAssertions expect.poll printConsoleTrace " +
			"includeTaskLocation run color clearScreen " +
			"standalone clearCache strictTags threads singleThread update u diff.expand diff.includeChangeCounts " +
			"diff.omitAnnotationLines " +
			"diff.printBasicPrototype poolOptions.threads.isolate poolOptions.threads.singleThread " +
			"poolOptions.threads.useAtomics poolOptions.forks.isolate " +
			"poolOptions.forks.singleFork poolOptions.vmThreads.useAtomics poolOptions.vmThreads.singleThread " +
			"poolOptions.vmForks.singleFork " +
			"experimental.fsModuleCache experimental.importDurations experimental.viteModuleRunner experimental.nodeLoader " +
			"experimental.preParse",
		own: "run watch w ui open coverage coverage. reporter reporters outputFile silent json clearScreen standalone " +
			"mergeReports listTags"},
	"mocha": {rest: true, short: "fgjnrORstu",
		values: "extension file global globals ignore exclude node-option n reporter-option reporter-options O require r " +
			"spec watch-files watch-ignore retries " +
			"jobs j config fgrep f grep g package reporter R ui u slow s timeout timeouts t compilers opts",
		flags: "allow-uncaught async-only A bail b check-leaks clear-screen color colors c delay diff dry-run exit " +
			"fail-hook-affected-tests " +
			"pass-on-failing-test-suite fail-zero forbid-only forbid-pending full-trace inline-diffs invert i list-interfaces " +
			"list-reporters no-colors C " +
			"parallel p posix-exit-codes recursive sort S watch w full-trace debug inspect inspect-brk growl G",
		own: "watch w watch-files watch-ignore reporter R reporter-option reporter-options O dry-run list-interfaces " +
			"list-reporters inspect inspect-brk"},
	"playwright": {short: "cgGj",
		values: "add-reporter browser config c grep g grep-invert G global-timeout workers j last-failed-file max-failures " +
			"output repeat-each reporter retries " +
			"run-agents shard test-list test-list-invert timeout trace tsconfig ui-host ui-port update-source-method",
		lists: "project", may: "debug only-changed shuffle update-snapshots u",
		own: "ui ui-host ui-port reporter add-reporter list debug"},
	"node": {short: "rC",
		values: "allow-fs-read allow-fs-write build-snapshot-config conditions C cpu-prof-dir cpu-prof-interval " +
			"cpu-prof-name diagnostic-dir disable-proto " +
			"disable-warning dns-result-order env-file env-file-if-exists eval e experimental-default-type loader " +
			"experimental-loader experimental-policy " +
			"experimental-sea-config experimental-config-file heap-prof-dir heap-prof-interval heap-prof-name " +
			"heapsnapshot-near-heap-limit heapsnapshot-signal " +
			"icu-data-dir import input-type localstorage-file max-http-header-size " +
			"network-family-autoselection-attempt-timeout openssl-config policy-integrity " +
			"redirect-warnings report-directory report-dir report-filename report-signal require r secure-heap " +
			"secure-heap-min snapshot-blob stack-trace-limit " +
			"test-concurrency test-coverage-branches test-coverage-functions test-coverage-lines test-coverage-exclude " +
			"test-coverage-include test-isolation " +
			"experimental-test-isolation test-global-setup test-name-pattern test-skip-pattern test-reporter " +
			"test-reporter-destination test-rerun-failures test-shard " +
			"test-timeout title tls-cipher-list tls-keylog tls-min-v trace-event-categories trace-event-file-pattern " +
			"trace-require-module unhandled-rejections " +
			"use-largepages v8-pool-size watch-path tsconfig",
		own: "test test-reporter test-reporter-destination watch watch-path watch-preserve-output " +
			"experimental-test-coverage test-coverage-branches " +
			"test-coverage-functions test-coverage-lines test-coverage-exclude test-coverage-include inspect inspect-brk"},
	"bun": {short: "trdclFe",
		values: "timeout rerun-each retry seed coverage-reporter coverage-dir test-name-pattern t reporter " +
			"reporter-outfile max-concurrency path-ignore-patterns " +
			"shard preload r require import cwd env-file define d loader l conditions tsconfig-override drop extension-order " +
			"main-fields port title config c jsx-factory " +
			"jsx-fragment jsx-import-source jsx-runtime install parallel-delay",
		own: "watch hot coverage coverage-reporter coverage-dir reporter reporter-outfile inspect inspect-brk inspect-wait " +
			"only-failures dots"},
	"deno": {short: "cL",
		values: "filter coverage-threshold reporter junit-path retry repeats shard related ext import-map " +
			"node-modules-linker config c cert min-dep-age " +
			"inspect-publish-uid location seed preload require conditions log-level L",
		own: "watch watch-exclude no-clear-screen coverage coverage-raw-data-only reporter junit-path no-run inspect " +
			"inspect-brk inspect-wait"},
	"pytest": {short: "kmrcpnoW",
		values: "k m maxfail c config-file rootdir confcutdir p W pythonwarnings o override-ini basetemp capture " +
			"show-capture tb color code-highlight durations " +
			"durations-min verbosity junitxml junit-xml junit-prefix junit-xml-prefix import-mode ignore ignore-glob deselect " +
			"doctest-report doctest-glob log-level " +
			"log-format log-date-format log-cli-level log-cli-format log-cli-date-format log-file log-file-mode " +
			"log-file-level log-file-format " +
			"log-file-date-format log-auto-indent log-disable assert lfnf last-failed-no-failures pastebin r pdbcls n " +
			"numprocesses maxprocesses dist tx px rsyncdir " +
			"rsyncignore max-worker-restart maxschedchunk cov-report cov-config cov-fail-under cov-context timeout " +
			"timeout_method timeout-method session-timeout " +
			"reruns reruns-delay only-rerun rerun-except asyncio-mode hypothesis-profile hypothesis-seed hypothesis-verbosity " +
			"randomly-seed random-order-bucket " +
			"random-order-seed html css json-report-file ds dc django-settings-module benchmark-min-rounds benchmark-json " +
			"splits group store-durations durations-path " +
			"alluredir repeat-scope count mypy-config-file backend",
		may: "cov"},
	"unittest": {short: "kspt", values: "k s start-directory p pattern t top-level-directory durations"},
}

func (o *options) in(list, name string) bool {
	return slices.Contains(strings.Fields(list), name)
}

// name is an option without its dashes, its value, and the no- before it.
func (o *options) name(arg string) (name, value string, has, no bool) {
	name, value, has = strings.Cut(strings.TrimLeft(arg, "-"), "=")
	if name, no = strings.CutPrefix(name, "no-"); o.camel {
		parts := strings.Split(name, "-")
		for i := 1; i < len(parts); i++ {
			if parts[i] != "" {
				parts[i] = strings.ToUpper(parts[i][:1]) + parts[i][1:]
			}
		}
		name = strings.Join(parts, "")
	}
	return name, value, has, no
}

// word is one word of a command line, with those that belong to it.
type word struct {
	text   []string
	option bool
	own    bool // the adapter gives it in its own way
}

// split takes a command line apart.
func (o *options) split(args []string) (words []word) {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			for _, name := range args[i+1:] {
				words = append(words, word{text: []string{name}})
			}
			break
		}
		if len(arg) < 2 || arg[0] != '-' {
			words = append(words, word{text: []string{arg}})
			continue
		}
		n := o.takes(arg, args[i+1:])
		words = append(words, word{text: args[i : i+1+n], option: true, own: o.isOwn(arg)})
		i += n
	}
	return words
}

func (o *options) isOwn(arg string) bool {
	name, _, _, _ := o.name(arg)
	if !strings.HasPrefix(arg, "--") && len(name) > 1 && strings.Contains(o.short, name[:1]) {
		name = name[:1]
	}
	group, _, _ := strings.Cut(name, ".")
	return o.in(o.own, name) || group != name && o.in(o.own, group+".")
}

// takes says how many of the words behind an option belong to it.
func (o *options) takes(arg string, next []string) int {
	name, _, has, no := o.name(arg)
	if !strings.HasPrefix(arg, "--") && len(name) > 1 && !o.known(name) { // letters in one word
		if strings.Contains(o.short, name[:1]) {
			return 0 // -w2
		}
		name = name[len(name)-1:]
	}
	dashed := len(next) == 0 || len(next[0]) > 1 && next[0][0] == '-' && (next[0][1] < '0' || next[0][1] > '9')
	switch {
	case o.in(o.lists, name): // also behind =
		n := 0
		for n < len(next) && (len(next[n]) < 2 || next[n][0] != '-') {
			n++
		}
		return n
	case has || no || len(next) == 0:
		return 0
	case o.in(o.flags, name):
		if next[0] == "true" || next[0] == "false" {
			return 1
		}
		return 0
	case o.in(o.values, name):
		if dashed && o.rest {
			return 0
		}
		return 1
	case (o.rest || o.in(o.may, name)) && !dashed:
		return 1
	}
	return 0
}

func (o *options) known(name string) bool {
	return o.in(o.values, name) || o.in(o.lists, name) || o.in(o.may, name) || o.in(o.flags, name)
}

// onlyOptions are the options of arguments that a user gave, without what selects files, for the command of one test;
// leave names those that select tests.
func onlyOptions(tool string, args []string, leave ...string) (kept []string) {
	o := toolOptions[tool]
	if o == nil {
		return args
	}
	for _, w := range o.split(args) {
		if name, _, _, _ := o.name(w.text[0]); w.option && !slices.Contains(leave, name) {
			kept = append(kept, w.text...)
		}
	}
	return kept
}
