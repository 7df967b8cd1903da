//! Keys and certificates of one API server: its certificate authority (which also signs for clients, through the
//! controller manager), its serving certificate, and the key of ServiceAccount tokens. All keys are ECDSA P-256.

use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, SanType,
};

/// Files of one API server's keys and certificates.
#[derive(Clone, Debug)]
pub struct Pki {
    dir: PathBuf,
    ca: String,
}

impl Pki {
    /// Makes all keys and certificates in `dir`.
    pub fn create(dir: &Path, name: &str) -> Result<Self> {
        fs::create_dir_all(dir).with_context(|| format!("creating {}", dir.display()))?;
        let authority = authority(name)?;
        let ca = authority.as_ref().pem();
        let (certificate, key) = serving(&authority)?;
        let accounts = KeyPair::generate()?;
        let pki = Self { dir: dir.to_owned(), ca };
        fs::write(pki.ca_file(), &pki.ca)?;
        fs::write(pki.ca_key_file(), authority.key().serialize_pem())?;
        fs::write(pki.serving_file(), certificate)?;
        fs::write(pki.serving_key_file(), key)?;
        fs::write(pki.account_key_file(), accounts.serialize_pem())?;
        fs::write(pki.account_public_key_file(), accounts.public_key_pem())?;
        Ok(pki)
    }

    /// The authority's certificate, PEM.
    pub fn ca(&self) -> &str {
        &self.ca
    }

    /// File of the authority's certificate.
    pub fn ca_file(&self) -> PathBuf {
        self.dir.join("ca.crt")
    }

    /// File of the authority's key; the controller manager signs with it.
    pub fn ca_key_file(&self) -> PathBuf {
        self.dir.join("ca.key")
    }

    /// File of the serving certificate.
    pub fn serving_file(&self) -> PathBuf {
        self.dir.join("srv.crt")
    }

    /// File of the serving certificate's key.
    pub fn serving_key_file(&self) -> PathBuf {
        self.dir.join("srv.key")
    }

    /// File of the key that signs ServiceAccount tokens.
    pub fn account_key_file(&self) -> PathBuf {
        self.dir.join("sa.key")
    }

    /// File of the key that verifies ServiceAccount tokens.
    pub fn account_public_key_file(&self) -> PathBuf {
        self.dir.join("sa.pub")
    }
}

fn authority(name: &str) -> Result<CertifiedIssuer<'static, KeyPair>> {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, format!("{name}-ca"));
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages =
        vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
    CertifiedIssuer::self_signed(params, KeyPair::generate()?).context("making the certificate authority")
}

fn serving(authority: &CertifiedIssuer<'static, KeyPair>) -> Result<(String, String)> {
    let mut params = CertificateParams::new(["localhost".to_owned(), "kubernetes.default.svc".to_owned()])?;
    params.subject_alt_names.push(SanType::IpAddress(IpAddr::V4(Ipv4Addr::LOCALHOST)));
    params.subject_alt_names.push(SanType::IpAddress(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1))));
    params.distinguished_name.push(DnType::CommonName, "kube-apiserver");
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    let key = KeyPair::generate()?;
    let certificate = params.signed_by(&key, authority).context("signing the serving certificate")?;
    Ok((certificate.pem(), key.serialize_pem()))
}
