// Tells what the tests of a Gradle build do, as wire.go reads it. Given by --init-script: no file of the project changes.
import groovy.json.JsonOutput
import org.gradle.api.tasks.testing.*

def config = new groovy.json.JsonSlurper().parse(new File(initscript.sourceFile.parentFile, 'strobe_config.json'))
def report = new File(config.report)
def tell = { Map event ->
    def line = (JsonOutput.toJson(event) + '\n').getBytes('UTF-8')
    synchronized (report) { report.append(line) }
}
def cut = { String s -> s == null ? '' : s.length() > 8192 ? s.substring(s.length() - 8192) : s }

// An exception as wire.go has failures. Of what came from another JVM only messages and stacks are sure to be there.
def failure = { Throwable t ->
    def name = t.class.name
    def text = t.toString()
    def colon = text.indexOf(':')
    if (name.contains('Placeholder') && colon > 0) { // its class is not known to Gradle
        name = text.substring(0, colon)
    }
    def assertion = t instanceof AssertionError || name ==~ /.*(AssertionError|AssertionFailedError|ComparisonFailure)/
    def message = assertion ? (t.message ?: name) : (t.message ? name + ': ' + t.message : name)
    def frames = []
    def seen = []
    for (def c = t; c != null && seen.size() < 10 && !seen.any { it.is(c) }; c = c.cause) {
        if (!seen.isEmpty()) {
            message += '\ncaused by ' + c
        }
        seen << c
        frames.addAll(c.stackTrace.findAll { it.fileName != null }.take(100).collect {
            [function: it.className + '.' + it.methodName, file: it.fileName, line: Math.max(it.lineNumber, 0)]
        })
    }
    return [kind: assertion ? 'assertion' : 'exception', message: message, frames: frames.take(200)]
}

// What a test is called: class#method(types)[case], as Maven's listener calls it.
def about = { TestDescriptor d, dir ->
    def method = d.name.replaceAll(/\(\)(?=$|\[)/, '').replaceAll(/(\[\d+\])\(.*\)$/, '$1')
    def shown = d.hasProperty('displayName') ? d.displayName : d.name
    def name = method
    if (method ==~ /.*\[\d+\]/ && shown != null) {
        def more = d.name.startsWith(method + '(') ? d.name.substring(method.length() + 1, d.name.length() - 1)
                : shown == d.name || shown.contains(method) ? '' : shown.replaceAll(/^\[\d+\] /, '')
        name = more ? method + ' ' + more : method
    }
    def type = d.className ?: d.parent?.className ?: ''
    return [id: type ? type + '#' + method : method, name: name, suite: type, file: dir]
}

class Listener implements TestListener, TestOutputListener {
    def tell, about, failure, cut, dir
    def output = [:]

    void beforeSuite(TestDescriptor d) {}

    void afterSuite(TestDescriptor d, TestResult r) {
        if (d.className != null && r.resultType == TestResult.ResultType.FAILURE && r.exceptions && r.testCount == 0) {
            tell([e: 'end', id: d.className, name: d.className, suite: d.className, file: dir, status: 'error',
                  fails: true, failures: r.exceptions.collect { failure(it) + [kind: 'setup'] }])
        }
    }

    void beforeTest(TestDescriptor d) {
        synchronized (output) { output[d] = new StringBuilder() }
        tell([e: 'start'] + about(d, dir))
    }

    void onOutput(TestDescriptor d, TestOutputEvent e) {
        synchronized (output) {
            def b = output[d]
            if (b != null) {
                b.append(e.message)
                if (b.length() > 65536) {
                    b.delete(0, b.length() - 8192)
                }
            }
        }
    }

    void afterTest(TestDescriptor d, TestResult r) {
        def text
        synchronized (output) { text = output.remove(d) }
        def event = [e: 'end', ms: r.endTime - r.startTime, output: cut(text?.toString())] + about(d, dir)
        switch (r.resultType) {
            case TestResult.ResultType.SKIPPED:
                event.status = 'skipped'
                break
            case TestResult.ResultType.FAILURE:
                event += [status: 'failed', fails: true, failures: r.exceptions.collect { failure(it) }]
                break
            default:
                event.status = 'passed'
        }
        tell(event)
    }
}

allprojects { project ->
    project.tasks.withType(Test) { task ->
        def l = new Listener(tell: tell, about: about, failure: failure, cut: cut, dir: project.projectDir.path)
        task.addTestListener(l)
        task.addTestOutputListener(l)
        task.outputs.upToDateWhen { false } // they are to run, whatever ran before
    }
}
gradle.taskGraph.whenReady { graph ->
    graph.allTasks.findAll { it instanceof Test }.each { task ->
        if (config.patterns) {
            task.filter.includePatterns = config.patterns as String[]
            task.filter.failOnNoMatchingTests = false
        }
    }
}
gradle.taskGraph.addTaskExecutionListener(new org.gradle.api.execution.TaskExecutionListener() {
    void beforeExecute(org.gradle.api.Task t) { tell([e: t instanceof Test ? 'testing' : 'goal', text: t.path]) }

    void afterExecute(org.gradle.api.Task t, org.gradle.api.tasks.TaskState s) {}
})
gradle.buildFinished { tell([e: 'done']) }
