//! From what the derive gives to what is published (spec/08 7.2).

use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};

/// Closes the gaps between a derived CRD and a published one: no `nullable`, no null in enumerations, no formats that
/// OpenAPI does not have, numbers or texts spelled out, `spec` not required, and the three fields of every object.
#[must_use]
pub fn finish(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
    for version in &mut crd.spec.versions {
        let Some(root) = version.schema.as_mut().and_then(|s| s.open_api_v3_schema.as_mut()) else {
            continue;
        };
        clean(root);
        root.required = None;
        let properties = root.properties.get_or_insert_with(BTreeMap::new);
        let field = |type_: &str, description: Option<&str>| JSONSchemaProps {
            type_: Some(type_.to_owned()),
            description: description.map(str::to_owned),
            ..JSONSchemaProps::default()
        };
        properties
            .insert("apiVersion".to_owned(), field("string", Some("Group and version of this object.")));
        properties.insert("kind".to_owned(), field("string", Some("Kind of this object.")));
        properties.insert("metadata".to_owned(), field("object", None));
        if version.additional_printer_columns.as_ref().is_some_and(Vec::is_empty) {
            version.additional_printer_columns = None;
        }
        if version.selectable_fields.as_ref().is_some_and(Vec::is_empty) {
            version.selectable_fields = None;
        }
    }
    let names = &mut crd.spec.names;
    for list in [&mut names.categories, &mut names.short_names] {
        if list.as_ref().is_some_and(Vec::is_empty) {
            *list = None;
        }
    }
    crd
}

/// Makes the API server refuse objects without a `spec`.
pub(super) fn require_spec(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
    for version in &mut crd.spec.versions {
        if let Some(root) = version.schema.as_mut().and_then(|s| s.open_api_v3_schema.as_mut()) {
            root.required = Some(vec!["spec".to_owned()]);
        }
    }
    crd
}

fn clean(schema: &mut JSONSchemaProps) {
    schema.nullable = None;
    schema.title = None;
    schema.description =
        schema.description.take().map(|text| plain_text(&text)).filter(|text| !text.is_empty());
    if let Some(values) = &mut schema.enum_ {
        values.retain(|v| !v.0.is_null());
    }
    if schema
        .format
        .as_deref()
        .is_some_and(|f| f.starts_with("uint") || matches!(f, "int" | "float" | "double"))
    {
        schema.format = None;
    }
    if schema.x_kubernetes_int_or_string == Some(true) {
        let either =
            |type_: &str| JSONSchemaProps { type_: Some(type_.to_owned()), ..JSONSchemaProps::default() };
        schema.type_ = None;
        schema.format = None;
        schema.any_of = Some(vec![either("integer"), either("string")]);
    }
    if let Some(required) = &mut schema.required {
        required.sort_unstable();
    }
    if schema.required.as_ref().is_some_and(Vec::is_empty) {
        schema.required = None;
    }
    for property in schema.properties.iter_mut().flat_map(BTreeMap::values_mut) {
        clean(property);
    }
    if schema.properties.as_ref().is_some_and(BTreeMap::is_empty) {
        schema.properties = None;
    }
    match &mut schema.items {
        Some(JSONSchemaPropsOrArray::Schema(item)) => clean(item),
        Some(JSONSchemaPropsOrArray::Schemas(items)) => items.iter_mut().for_each(clean),
        None => {}
    }
    if let Some(JSONSchemaPropsOrBool::Schema(value)) = &mut schema.additional_properties {
        clean(value);
    }
    for list in [&mut schema.all_of, &mut schema.any_of, &mut schema.one_of] {
        list.iter_mut().flatten().for_each(clean);
    }
}

/// Doc comments as people read them in `kubectl explain`: no marks of code and links, no references to the
/// specification, one line per paragraph.
fn plain_text(doc: &str) -> String {
    let mut text = doc.replace("[`", "").replace("`]", "").replace('`', "");
    while let Some((before, rest)) = text.split_once("(spec/") {
        let after = rest.split_once(')').map_or("", |(_, after)| after);
        text = format!("{}{after}", before.trim_end());
    }
    let paragraphs = text.split("\n\n").map(|p| p.split_whitespace().collect::<Vec<_>>().join(" "));
    paragraphs.collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::plain_text;

    #[test]
    fn descriptions_are_plain() {
        let doc = "What [`Other`] says about\n`x` (spec/01 1.2, rule 1).\n\nMore (spec/02).";
        assert_eq!(plain_text(doc), "What Other says about x.\n\nMore.");
    }
}
