//! spec/02 19.6.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use manifests::clcm::conditions::RequestCondition;
use manifests::meta::GoDuration;
use manifests::meta::condition::set;
use rstest::rstest;

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

const READY: Cluster = Cluster { available: true, accepted: true, joined: true, available_since: None };
const LIMIT: GoDuration = GoDuration::minutes(30);

fn root<'a>(name: &'a str, action: &'a str) -> Root<'a> {
    Root { name, templates: Some("edge.v1"), action: Some(action) }
}

fn child<'a>(name: &'a str, compliant: &'a str, action: &'a str) -> Child<'a> {
    Child { name, compliant: (!compliant.is_empty()).then_some(compliant), action: Some(action) }
}

fn bound(roots: &[Root<'_>], children: &[Child<'_>]) -> Bound {
    bind("edge.v1", "edge-tpl", roots.iter().copied(), children.iter().copied())
}

/// A request through several passes.
struct Run {
    current: Vec<Condition>,
    non_compliant_at: Option<Timestamp>,
    ztp: Option<String>,
    cluster: Option<Cluster>,
    installed: Option<bool>,
    fulfilled_before: bool,
    new_generation: bool,
}

impl Run {
    fn new() -> Self {
        Run {
            current: Vec::new(),
            non_compliant_at: None,
            ztp: None,
            cluster: Some(READY),
            installed: Some(true),
            fulfilled_before: false,
            new_generation: false,
        }
    }

    fn pass(&mut self, bound: &Bound, now: i64) -> Decision {
        let decision = decide(
            &Seen {
                bound,
                cluster: self.cluster,
                installed: self.installed,
                fulfilled_before: self.fulfilled_before,
                current: self.current.first(),
                non_compliant_at: self.non_compliant_at,
                timeout: Some(LIMIT),
                ztp_status: self.ztp.as_deref(),
                new_generation: self.new_generation,
            },
            at(now),
        );
        set(&mut self.current, decision.condition.clone(), at(now));
        self.non_compliant_at = decision.non_compliant_at;
        self.ztp.clone_from(&decision.ztp_status);
        assert_eq!(self.current[0].type_, RequestCondition::ConfigurationApplied.as_str());
        decision
    }

    /// Status, reason, message.
    fn says(&self) -> (&str, &str, &str) {
        let c = &self.current[0];
        (&c.status, &c.reason, &c.message)
    }
}

#[test]
fn s02_108_policies_are_listed_before_the_installation() {
    let b = bound(&[root("perf", "enforce")], &[child("ztp-edge-tpl.perf", "NonCompliant", "enforce")]);
    let mut run = Run { installed: None, cluster: None, ..Run::new() };
    run.pass(&b, 0);
    assert_eq!(run.says(), ("False", "ClusterNotReady", "The Cluster is not yet ready"));
    assert_eq!(run.ztp, None);
    let p = &b.policies[0];
    assert_eq!(
        (p.policy_name.as_deref(), p.policy_namespace.as_deref(), p.compliant.as_deref()),
        (Some("perf"), Some("ztp-edge-tpl"), Some("NonCompliant"))
    );
}

#[test]
fn s02_109_no_policies_at_all() {
    let mut run = Run::new();
    let d = run.pass(&bound(&[], &[]), 0);
    assert_eq!(run.says(), ("True", "Missing", "No configuration present"));
    assert_eq!((d.deadline, run.ztp.as_deref()), (None, Some("ZTP Done")));
}

#[test]
fn s02_109_no_policies_is_not_believed_at_once() {
    // B-10
    let none = bound(&[], &[]);
    let mut run = Run { cluster: None, ..Run::new() };
    run.pass(&none, 0);
    assert_eq!(run.says().1, "ClusterNotReady");
    run.cluster = Some(Cluster { available_since: Some(at(100)), ..READY });
    let d = run.pass(&none, 110);
    assert_eq!(run.says(), ("False", "InProgress", "Expected configuration is not yet prepared"));
    assert_eq!((d.deadline, d.non_compliant_at), (Some(at(220)), None));
    assert_eq!(run.ztp.as_deref(), Some("ZTP Not Done"));
    run.pass(&none, 220);
    assert_eq!(run.says().1, "Missing");
    assert_eq!(run.ztp.as_deref(), Some("ZTP Done"));
    let mut old = Run { cluster: None, fulfilled_before: true, ..Run::new() };
    old.pass(&none, 0);
    assert_eq!(old.says().1, "Missing");
}

#[test]
fn s02_110_expected_inform_policy_is_missing() {
    let mut run = Run::new();
    run.pass(&bound(&[root("perf", "inform")], &[]), 0);
    assert_eq!(run.says(), ("True", "Missing", "Not all expected configuration is present"));
    assert_eq!((run.non_compliant_at, run.ztp.as_deref()), (None, Some("ZTP Not Done")));
}

#[test]
fn s02_111_expected_enforce_policy_is_missing_until_the_timeout() {
    let b = bound(&[root("perf", "enforce")], &[]);
    let mut run = Run::new();
    let d = run.pass(&b, 0);
    assert_eq!(run.says(), ("False", "InProgress", "Expected configuration is not yet prepared"));
    assert_eq!((run.non_compliant_at, d.deadline), (Some(at(0)), Some(at(30 * 60 + 1))));
    assert_eq!(progress(&run.current[0], &b.policies), Some(PREPARING));
    run.pass(&b, 30 * 60);
    assert_eq!(run.says().1, "InProgress");
    let d = run.pass(&b, 30 * 60 + 1);
    assert_eq!(
        run.says(),
        ("False", "TimedOut", "Timed out waiting for expected configuration to be present")
    );
    assert_eq!(d.deadline, None);
    assert_eq!(run.non_compliant_at, Some(at(0)));
}

#[test]
fn s02_112_the_clock_goes_on_when_the_policy_appears() {
    let mut run = Run::new();
    run.pass(&bound(&[root("perf", "enforce")], &[]), 0);
    let b = bound(&[root("perf", "enforce")], &[child("ztp-edge-tpl.perf", "NonCompliant", "enforce")]);
    run.pass(&b, 60);
    assert_eq!(run.says(), ("False", "InProgress", "The configuration is still being applied"));
    assert_eq!(run.non_compliant_at, Some(at(0)));
    assert_eq!(progress(&run.current[0], &b.policies), Some(APPLYING));
}

#[test]
fn s02_113_policies_of_other_templates_count() {
    let mut run = Run::new();
    run.pass(
        &bound(
            &[
                root("perf", "enforce"),
                Root { name: "other", templates: Some("x.v1"), action: Some("enforce") },
            ],
            &[
                child("ztp-edge-tpl.perf", "Compliant", "enforce"),
                child("ztp-edge-tpl.other", "NonCompliant", "enforce"),
            ],
        ),
        0,
    );
    assert_eq!(run.says().1, "InProgress");
}

#[test]
fn s02_114_inform_policies_are_out_of_date() {
    let b = bound(
        &[],
        &[child("ztp-edge-tpl.a", "NonCompliant", "inform"), child("ztp-edge-tpl.b", "Compliant", "inform")],
    );
    let mut run = Run::new();
    let d = run.pass(&b, 0);
    assert_eq!(run.says(), ("False", "OutOfDate", "The configuration is out of date"));
    assert_eq!((d.non_compliant_at, d.deadline), (None, None));
    assert_eq!(progress(&run.current[0], &b.policies), None);
}

fn timed_out() -> Run {
    let mut run = Run::new();
    let b = bound(&[], &[child("ztp-edge-tpl.a", "NonCompliant", "enforce")]);
    run.pass(&b, 0);
    run.pass(&b, 4000);
    assert_eq!(
        run.says(),
        ("False", "TimedOut", "The configuration is still being applied, but it timed out")
    );
    run
}

#[rstest]
#[case::s02_115_compliant("Compliant", "enforce", ("True", "Completed", "The configuration is up to date"))]
#[case::s02_116_inform("NonCompliant", "inform", ("False", "OutOfDate", "The configuration is out of date"))]
fn a_timeout_is_not_final(
    #[case] compliant: &str,
    #[case] action: &str,
    #[case] expected: (&str, &str, &str),
) {
    let mut run = timed_out();
    run.pass(&bound(&[], &[child("ztp-edge-tpl.a", compliant, action)]), 5000);
    assert_eq!(run.says(), expected);
    assert_eq!(run.non_compliant_at, None);
}

#[test]
fn a_timeout_sticks_until_the_spec_changes() {
    let b = bound(&[], &[child("ztp-edge-tpl.a", "Pending", "enforce")]);
    let mut run = timed_out();
    run.pass(&b, 5000);
    assert_eq!(run.says().1, "TimedOut");
    run.new_generation = true;
    run.pass(&b, 6000);
    assert_eq!(run.says().1, "InProgress");
    assert_eq!(run.non_compliant_at, Some(at(6000)));
}

#[test]
fn s02_117_the_clock_survives_an_unavailable_cluster() {
    let b = bound(&[], &[child("ztp-edge-tpl.a", "NonCompliant", "enforce")]);
    let mut run = Run::new();
    run.pass(&b, 0);
    run.cluster = Some(Cluster { available: false, ..READY });
    run.pass(&b, 10);
    assert_eq!(run.says().1, "ClusterNotReady");
    assert_eq!(run.non_compliant_at, Some(at(0)));
    assert_eq!(progress(&run.current[0], &b.policies), Some(WAITING_FOR_CLUSTER));
    run.cluster = Some(READY);
    run.pass(&b, 20);
    assert_eq!((run.says().1, run.non_compliant_at), ("InProgress", Some(at(0))));
}

#[test]
fn s02_118_an_unready_cluster_starts_no_clock() {
    let b = bound(&[], &[child("ztp-edge-tpl.a", "NonCompliant", "enforce")]);
    let mut run = Run { cluster: Some(Cluster { joined: false, ..READY }), ..Run::new() };
    run.pass(&b, 0);
    run.pass(&b, 10);
    assert_eq!((run.says().1, run.non_compliant_at), ("ClusterNotReady", None));
}

#[test]
fn s02_119_children_of_other_namespaces_do_not_count() {
    let b = bound(
        &[],
        &[child("test-ns.x", "NonCompliant", "enforce"), child("nopoint", "NonCompliant", "enforce")],
    );
    assert_eq!(b.policies, []);
    assert_eq!(root_of("ns.a.b"), Some(("ns", "a.b")));
}

#[rstest]
#[case::s02_120_pending("Pending")]
#[case::unset("")]
fn pending_is_not_compliant(#[case] compliant: &str) {
    let mut run = Run::new();
    run.pass(&bound(&[], &[child("ztp-edge-tpl.a", compliant, "enforce")]), 0);
    assert_eq!(run.says().1, "InProgress");
}

#[test]
fn s02_121_done_is_sticky() {
    let mut run = Run::new();
    run.pass(&bound(&[], &[child("ztp-edge-tpl.a", "Compliant", "enforce")]), 0);
    assert_eq!((run.says().1, run.ztp.as_deref()), ("Completed", Some("ZTP Done")));
    run.pass(&bound(&[], &[child("ztp-edge-tpl.a", "NonCompliant", "enforce")]), 10);
    assert_eq!((run.says().1, run.ztp.as_deref()), ("InProgress", Some("ZTP Done")));
    assert_eq!(run.non_compliant_at, Some(at(10)));
}

#[test]
fn s02_122_template_list_ignores_blanks_and_case() {
    let with = |templates| {
        bind("A.v2", "edge-tpl", [Root { name: "p", templates, action: Some("enforce") }], []).any_expected
    };
    assert!(with(Some("A.v1, a.V2")));
    assert!(!with(Some("A.v1,A.v22")));
    assert!(!with(None));
}

#[test]
fn order_of_the_lists_does_not_matter() {
    let a = child("ztp-edge-tpl.a", "Compliant", "enforce");
    let b = child("ztp-edge-tpl.b", "NonCompliant", "inform");
    assert_eq!(bound(&[], &[a, b]), bound(&[], &[b, a]));
}

#[test]
fn without_a_known_timeout_nothing_times_out() {
    let b = bound(&[], &[child("ztp-edge-tpl.a", "NonCompliant", "enforce")]);
    let seen = Seen {
        bound: &b,
        cluster: Some(READY),
        installed: Some(true),
        fulfilled_before: false,
        current: None,
        non_compliant_at: Some(at(0)),
        timeout: None,
        ztp_status: None,
        new_generation: false,
    };
    let d = decide(&seen, at(1_000_000));
    assert_eq!((d.condition.reason.as_str(), d.deadline), ("InProgress", None));
}
