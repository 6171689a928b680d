package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

// azureBucket is a prefix of a container of Azure Blob Storage.
type azureBucket struct {
	container *container.Client
	name      string // of the container
	prefix    string // empty, or ends in a slash
	at        string
}

// azureKey names the environment variable with the account's key.
const azureKey = "AZURE_STORAGE_KEY"

// azureBlock is the size of the blocks of an upload; two are sent at the same time.
const azureBlock = 8 << 20

// openAzure reads az://account/container/prefix?endpoint=host:port&insecure=true. The credential is
// the account's key from AZURE_STORAGE_KEY, otherwise Azure's default chain: a service principal in
// the environment, workload identity, the machine's managed identity, or the Azure CLI.
func openAzure(u *url.URL) (Bucket, error) {
	name, rest, _ := strings.Cut(strings.Trim(u.Path, "/"), "/")
	if u.Host == "" || name == "" {
		return nil, errors.New("snapshots: the URL names no account and container: write az://account/container/prefix")
	}
	a := &azureBucket{name: name, at: "az://" + u.Host + strings.TrimSuffix(u.Path, "/"), prefix: prefixOf(rest)}
	e, err := readEndpoint(a.at, "an Azure Blob Storage", u.Query())
	if err != nil {
		return nil, err
	}
	service := e.scheme() + "://" + u.Host + ".blob.core.windows.net/"
	if e.host != "" { // the account is the first part of the path, as emulators expect
		service = e.scheme() + "://" + e.host + "/" + u.Host + "/"
	}
	client, err := dialAzure(u.Host, service)
	if err != nil {
		return nil, fmt.Errorf("snapshots: %s: %w", a.at, err)
	}
	a.container = client.ServiceClient().NewContainerClient(name)
	return a, nil
}

func dialAzure(account, service string) (*azblob.Client, error) {
	if key := os.Getenv(azureKey); key != "" {
		credential, err := azblob.NewSharedKeyCredential(account, key)
		if err != nil {
			return nil, errors.New("the key in " + azureKey + " is not base64") // the error may quote the key
		}
		return azblob.NewClientWithSharedKeyCredential(service, credential, nil)
	}
	credential, err := azidentity.NewDefaultAzureCredential(nil)
	if err != nil {
		return nil, err
	}
	return azblob.NewClient(service, credential, nil)
}

func (a *azureBucket) String() string { return a.at }

// fail wraps an error of the client. The client writes no key or token into its errors.
func (a *azureBucket) fail(what, key string, err error) error {
	switch {
	case bloberror.HasCode(err, bloberror.BlobAlreadyExists, bloberror.ConditionNotMet):
		return fmt.Errorf("snapshots: %s %s/%s: %w", what, a.at, key, ErrConflict)
	case bloberror.HasCode(err, bloberror.ContainerNotFound):
		return fmt.Errorf("snapshots: %s %s/%s: there is no container %s: %w", what, a.at, key, a.name, err)
	case bloberror.HasCode(err, bloberror.BlobNotFound):
		return fmt.Errorf("snapshots: %s %s/%s: %w", what, a.at, key, ErrNotExist)
	}
	return fmt.Errorf("snapshots: %s %s/%s: %w", what, a.at, key, err)
}

func (a *azureBucket) blob(key string) *blockblob.Client {
	return a.container.NewBlockBlobClient(a.prefix + key)
}

func (a *azureBucket) Put(ctx context.Context, key string, r io.ReadSeeker, size int64) error {
	o := blockblob.UploadStreamOptions{BlockSize: azureBlock, Concurrency: 2}
	if _, err := a.blob(key).UploadStream(ctx, &exactReader{r, size}, &o); err != nil {
		return a.fail("writing", key, err)
	}
	return nil
}

func (a *azureBucket) PutIf(ctx context.Context, key string, data []byte, version string) error {
	var only blob.ModifiedAccessConditions
	if tag := azcore.ETag(version); version != "" {
		only.IfMatch = &tag
	} else {
		tag = azcore.ETagAny
		only.IfNoneMatch = &tag
	}
	_, err := a.blob(key).Upload(ctx, streaming.NopCloser(bytes.NewReader(data)),
		&blockblob.UploadOptions{AccessConditions: &blob.AccessConditions{ModifiedAccessConditions: &only}})
	if err == nil {
		return nil
	}
	return notReplaced(a, key, version, a.fail("writing", key, err))
}

func (a *azureBucket) Get(ctx context.Context, key string) (io.ReadCloser, Object, error) {
	answer, err := a.blob(key).DownloadStream(ctx, nil)
	if err != nil {
		return nil, Object{}, a.fail("reading", key, err)
	}
	if answer.ContentLength == nil || answer.LastModified == nil || answer.ETag == nil {
		return nil, Object{}, errors.Join(fmt.Errorf("snapshots: reading %s/%s: the answer lacks Last-Modified, Content-Length or ETag", a.at, key), answer.Body.Close())
	}
	return answer.NewRetryReader(ctx, nil), Object{Key: key, Size: *answer.ContentLength, Modified: *answer.LastModified, Version: string(*answer.ETag)}, nil
}

func (a *azureBucket) List(ctx context.Context, prefix string, fn func(Object) error) error {
	full := a.prefix + prefix
	for pages := a.container.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{Prefix: &full}); pages.More(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return a.fail("listing", prefix, err)
		}
		for _, i := range page.Segment.BlobItems {
			if i.Name == nil || i.Properties == nil || i.Properties.ContentLength == nil || i.Properties.LastModified == nil || i.Properties.ETag == nil {
				return fmt.Errorf("snapshots: listing %s/%s: an entry lacks its name, size, time or ETag", a.at, prefix)
			}
			if err := fn(Object{Key: strings.TrimPrefix(*i.Name, a.prefix), Size: *i.Properties.ContentLength,
				Modified: *i.Properties.LastModified, Version: string(*i.Properties.ETag)}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *azureBucket) Delete(ctx context.Context, key string) error {
	if _, err := a.blob(key).Delete(ctx, nil); err != nil {
		if err = a.fail("deleting", key, err); !errors.Is(err, ErrNotExist) {
			return err
		}
	}
	return nil
}
