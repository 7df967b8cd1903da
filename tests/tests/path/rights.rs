//! The manager runs under the rights of the chart, and they are enough.

use anyhow::{Result, ensure};
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::api::{Api, PostParams};
use tests::lab::audit::Mark;
use tests::lab::hub::OPERATOR_NAMESPACE;
use tests::scene::Scene;

use crate::kit;

async fn may(scene: &Scene, verb: &str, group: &str, resource: &str) -> Result<bool> {
    let review = SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: Some(scene.manager().user()),
            resource_attributes: Some(ResourceAttributes {
                verb: Some(verb.to_owned()),
                group: Some(group.to_owned()),
                resource: Some(resource.to_owned()),
                ..ResourceAttributes::default()
            }),
            ..SubjectAccessReviewSpec::default()
        },
        ..SubjectAccessReview::default()
    };
    let reviews: Api<SubjectAccessReview> = Api::all(scene.client());
    let answer = reviews.create(&PostParams::default(), &review).await?;
    Ok(answer.status.is_some_and(|s| s.allowed))
}

/// Every test of this binary checks its own time for refusals, see [`kit::beside`]; this one the time before and between.
#[test]
fn the_rights_of_the_chart_are_enough_and_narrow() -> Result<()> {
    kit::beside(|scene| async move {
        let user = scene.manager().user();
        ensure!(user == format!("system:serviceaccount:{OPERATOR_NAMESPACE}:ocloud-manager"), "{user}");
        let forbidden = [
            ("list", "", "secrets"),
            ("watch", "", "secrets"),
            ("delete", "", "secrets"),
            ("create", "rbac.authorization.k8s.io", "clusterroles"),
            ("delete", "metal3.io", "baremetalhosts"),
            ("create", "", "pods"),
            ("impersonate", "", "users"),
        ];
        for (verb, group, resource) in forbidden {
            ensure!(!may(scene, verb, group, resource).await?, "the manager may {verb} {resource}");
        }
        ensure!(may(scene, "patch", "metal3.io", "baremetalhosts").await?);
        kit::not_refused(scene, Mark::START).await
    })
}
